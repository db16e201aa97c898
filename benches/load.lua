-- One request again and again, for wrk; load.py sets METHOD, BODY and TOKENS, of which each thread has one: a bearer's own
-- bound would be in the way of the fastest. An answer that is no 200, or is a tool's
-- error, is counted.
local method, body, tokens = os.getenv("METHOD"), os.getenv("BODY"), {}
for token in os.getenv("TOKENS"):gmatch("[^,]+") do table.insert(tokens, token) end
wrk.method = method
if body then
  wrk.body = body
  wrk.headers["Content-Type"] = "application/json"
end

local threads = {}
function setup(thread)
  table.insert(threads, thread)
  thread:set("token", tokens[(#threads - 1) % #tokens + 1])
end
function init()
  refused = 0
  wrk.headers["Authorization"] = "Bearer " .. token
end
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
