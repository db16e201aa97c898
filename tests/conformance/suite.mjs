// Runs MCP's conformance suite against `pdpp mcp host`, in front of a sandbox: node suite.mjs PDPP DIR. PDPP is built
// with the feature conformance-fixtures (src/mcp/protocol/conformance.rs).
//
// The suite sends no bearer. A small proxy in between adds one and changes nothing else: Host, Origin and every byte
// of a message and its answer stay the suite's and the endpoint's own.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

const [pdpp, dir] = process.argv.slice(2).map(argument => path.resolve(argument));
// By revision: checks that fail, in groups with the reason.
const expected = JSON.parse(readFileSync(path.join(import.meta.dirname, 'expected.json'), 'utf8'));
const conformance = path.join(dir, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const root = mkdtempSync(path.join(tmpdir(), 'pdpp-conformance-'));
const env = { HOME: root, PATH: process.env.PATH };
const started = [];

function start(...args) {
  const child = spawn(pdpp, args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
  started.push(child);
  return new Promise((resolve, reject) => {
    let said = '';
    child.stdout.on('data', chunk => {
      said += chunk;
      if (said.includes('\n')) resolve(JSON.parse(said));
    });
    child.on('exit', code => reject(new Error(`pdpp ${args.join(' ')} ended with ${code}`)));
  });
}

async function json(url, body) {
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

/** Listens, and gives its port and a way to say where to. */
async function between(token) {
  let target;
  const server = http.createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${token()}` };
    const onward = http.request(target, { method: request.method, path: request.url, headers }, answer => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  await new Promise(listening => server.listen(0, '127.0.0.1', listening));
  return { server, port: server.address().port, to: url => (target = url) };
}

/** The suite's checks as it left them in `out`: `scenario/check`, and how each ended. */
function checks(out) {
  const found = [];
  for (const entry of readdirSync(out, { recursive: true })) {
    if (path.basename(entry) !== 'checks.json') continue;
    // server-ping-2026-11-28T07-28-40-123Z
    const scenario = path.dirname(entry).replace(/^(authorization-)?server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
    for (const check of JSON.parse(readFileSync(path.join(out, entry), 'utf8'))) {
      found.push({ name: `${scenario}/${check.id}`, status: check.status, why: check.errorMessage ?? '' });
    }
  }
  return found;
}

/** Runs the suite. Its exit code says that something failed; what did is compared below. */
async function run(out, args, onLine) {
  const child = spawn(process.execPath, [conformance, ...args, '-o', out], { cwd: root, env, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise(done => child.on('exit', done));
  for await (const line of createInterface({ input: child.stdout })) onLine?.(line);
  await ended;
  return checks(out);
}

/** Whether what failed is what is expected to, with at least so many checks passed. */
function compare(what, found, groups, least) {
  const failures = found.filter(check => check.status === 'FAILURE');
  const passed = found.filter(check => check.status === 'SUCCESS').length;
  const listed = new Set(groups.flatMap(group => group.checks));
  const surprises = failures.filter(check => !listed.has(check.name));
  const names = new Set(failures.map(check => check.name));
  const stale = [...listed].filter(name => !names.has(name));
  console.log(`${what}: ${passed} checks passed, ${failures.length} failed, ${surprises.length} of them unexpectedly`);
  for (const check of surprises) console.log(`  unexpected: ${check.name}: ${check.why}`);
  for (const name of stale) console.log(`  listed as a failure, and is none: ${name}`);
  if (passed < least) console.log(`  at least ${least} had to pass`);
  return passed >= least && surprises.length === 0 && stale.length === 0;
}

let failed = 0;
try {
  const sandbox = await start('sandbox', '--listen', '127.0.0.1:0', '--json', '--auto-approve', '--data-dir', path.join(root, 'sandbox'));
  const asked = await json(`${sandbox.url}/agent-connect`, { resource: sandbox.url, client_name: 'Conformance' });
  const { access_token } = await json(asked.poll_url, { polling_code: asked.polling_code });
  const proxy = await between(() => access_token);
  const host = await start(
    'mcp', 'host', '--json', '--listen', '127.0.0.1:0', '--provider-url', sandbox.url,
    '--public-url', `http://127.0.0.1:${proxy.port}/mcp`, '--trusted-host', `localhost:${proxy.port}`,
    '--allowed-origin', 'http://127.0.0.1:*', '--allowed-origin', 'http://localhost:*',
    '--introspection-file', path.join(root, 'sandbox/introspection.json'), '--requests-per-minute', '100000',
  );
  proxy.to(host.url);
  for (const revision of ['2025-11-25', '2026-07-28']) {
    const url = `http://127.0.0.1:${proxy.port}/mcp`;
    const found = await run(path.join(root, revision), ['server', '--url', url, '--requirements', revision]);
    if (!compare(revision, found, expected[revision], 30)) failed += 1;
  }

  // The authorization server, for the sandbox's own endpoint. The owner's browser is a request that follows
  // redirects, because the sandbox approves at once.
  const callback = await between();
  callback.server.close();
  const { client_id } = await json(`${sandbox.url}/oauth/register`, {
    client_name: 'Conformance', redirect_uris: [`http://127.0.0.1:${callback.port}/callback`], token_endpoint_auth_method: 'none',
  });
  let page;
  const found = await run(path.join(root, 'authorization'), [
    'authorization', '--url', sandbox.url, '--client-id', client_id, '--resource', sandbox.mcp_url, '--port', String(callback.port),
  ], line => {
    if (line.startsWith(`${sandbox.url}/`)) page = line;
    if (line.startsWith('Callback server started')) fetch(page).then(answer => answer.text(), () => {});
  });
  if (!compare('authorization', found, expected.authorization, 3)) failed += 1;
  proxy.server.close();
  proxy.server.closeAllConnections();
} finally {
  for (const child of started) {
    child.removeAllListeners('exit');
    child.kill();
  }
  rmSync(root, { recursive: true, force: true });
}
console.log(failed === 0 ? 'conformance: as expected' : `conformance: ${failed} revisions with unexpected results`);
process.exit(failed === 0 ? 0 : 1);
