-- One request again and again, for wrk; load.py sets METHOD, BODY and TOKEN. An answer that is no 200, or is a tool's
-- error, is counted.
local method, token, body = os.getenv("METHOD"), os.getenv("TOKEN"), os.getenv("BODY")
wrk.method = method
wrk.headers["Authorization"] = "Bearer " .. token
if body then
  wrk.body = body
  wrk.headers["Content-Type"] = "application/json"
end

local threads = {}
function setup(thread) table.insert(threads, thread) end
function init() refused = 0 end
function response(status, _, text)
  if status ~= 200 or text:find('"isError":true', 1, true) then refused = refused + 1 end
end
function done(summary, latency)
  local refused = 0
  for _, thread in ipairs(threads) do refused = refused + thread:get("refused") end
  local errors = summary.errors
  io.write(string.format("RESULT %d %.1f %.3f %.3f %d\n", summary.requests, summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    refused + errors.connect + errors.read + errors.write + errors.timeout))
end
