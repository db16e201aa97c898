#!/usr/bin/env python3
"""Puts the endpoint under load, compared with the bare resource server, in one run. Prints a Markdown table.

    python3 benches/load.py target/release/pdpp [SECONDS]

Needs Linux, wrk (Debian has it) and 12,000 file descriptors. Everything is on loopback: a sandbox, `pdpp mcp host` in
front of it, and wrk, so that all of them share the processor; SECONDS (5) is the time for each line of the table.
"""
import argparse, json, os, resource, select, shutil, signal, socket, subprocess, sys, tempfile, time, urllib.request

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('pdpp', metavar='PDPP', help='the optimised binary')
parser.add_argument('seconds', nargs='?', type=int, default=5, metavar='SECONDS', help='for each line [%(default)s]')
options = parser.parse_args()
PDPP, SECONDS = os.path.abspath(options.pdpp), options.seconds
HERE = os.path.dirname(os.path.abspath(__file__))
IDLE, SLOW, HALF, HOLD = 10_000, 20, 200, 80
# One bearer per thread sends everything, so the bounds per bearer and of connections must not apply.
LIMITS = ['--requests-per-minute', '1000000', '--max-concurrent-per-bearer', '2000', '--max-concurrent', '2000',
          '--max-connections', '12000']
ROWS = 10
LIST = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'tools/list'})


def call(rows):
    return json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {
        'name': 'query_records', 'arguments': {'stream': 'events', 'limit': rows}}})




def start(*arguments):
    child = subprocess.Popen([PDPP, *arguments], env={'HOME': home, 'PATH': os.environ['PATH']}, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    children.append(child)
    return child, json.loads(child.stdout.readline())


def start_host(*more):
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    child, told = start('mcp', 'host', '--json', '--listen', f'127.0.0.1:{port}', '--provider-url', sandbox_told['url'],
                        '--public-url', f'http://127.0.0.1:{port}/mcp',
                        '--introspection-file', os.path.join(data, 'introspection.json'), *LIMITS, *more)
    return child, told['url']


def post(url, body, **headers):
    request = urllib.request.Request(url, json.dumps(body).encode(), {'content-type': 'application/json', **headers})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def grant(provider):
    """A token of a grant for everything."""
    asked = post(f'{provider}/agent-connect', {'resource': provider, 'client_name': 'Load'})
    return post(asked['poll_url'], {'polling_code': asked['polling_code']})['access_token']


def memory(child, what='VmRSS'):
    """In MB."""
    with open(f'/proc/{child.pid}/status') as status:
        return next(int(line.split()[1]) for line in status if line.startswith(what + ':')) / 1024


def cpu(child):
    """Processor time that it has used, in milliseconds."""
    with open(f'/proc/{child.pid}/stat') as stat:
        fields = stat.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK') * 1000


def load(url, connections, body=None):
    env = {**os.environ, 'TOKENS': ','.join(tokens), 'METHOD': 'POST' if body else 'GET'}
    if body:
        env['BODY'] = body
    threads = min(2, connections)
    command = ['wrk', '-t', str(threads), '-c', str(connections), '-d', f'{SECONDS}s', '--timeout', '30s',
               '-s', os.path.join(HERE, 'load.lua'), url]
    said = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
    result = next(line for line in said.splitlines() if line.startswith('RESULT ')).split()[1:]
    return [float(figure) for figure in result]


def address(url):
    host, port = url.split('/')[2].split(':')
    return host, int(port)


def request(to, rows):
    host, port = to
    body = call(rows)
    head = (f'POST /mcp HTTP/1.1\r\nhost: {host}:{port}\r\nauthorization: Bearer {tokens[0]}\r\n'
            f'content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n')
    return (head + body).encode()


def connect(to, receive=None):
    client = socket.socket()
    if receive:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    client.connect(to)
    client.setblocking(False)
    return client


def is_open(client):
    try:
        return client.recv(1) != b''
    except BlockingIOError:
        return True
    except OSError:
        return False


def is_cut(client):
    """Whether the endpoint has closed the connection, checked without reading what it sent."""
    poll = select.poll()
    poll.register(client, select.POLLRDHUP)
    return bool(poll.poll(0))


def idle(host, to):
    """RSS with no connections, and with IDLE connections that send nothing."""
    before = memory(host)
    clients = [connect(to) for _ in range(IDLE)]
    # A probe waits behind them in the queue: once it is answered, all of them have been accepted.
    probe = socket.create_connection(to)
    probe.sendall(b'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
    probe.recv(1)
    during, still = memory(host), sum(map(is_open, clients))
    for client in clients + [probe]:
        client.close()
    return before, during, still


def hold(host, to):
    """RSS while some clients never read an answer and others never finish their request."""
    # More answers than the system buffers for a connection (4 MB), so that the endpoint itself must wait.
    new = lambda: (connect(to, 4096), bytearray(request(to, 100) * 100))
    slow = [new() for _ in range(SLOW)]
    half, seen, cut, began = [], [], 0, time.monotonic()
    while (passed := time.monotonic() - began) < HOLD:
        for at, (client, unsent) in enumerate(slow):
            try:
                while unsent:
                    del unsent[:client.send(unsent)]
            except OSError:
                pass
            if is_cut(client):
                cut += 1
                client.close()
                slow[at] = new()
        half = [client for client in half if is_open(client) or client.close()]
        while len(half) < HALF:
            half.append(connect(to))
            half[-1].send(request(to, ROWS)[:-20])
        seen.append((passed, memory(host)))
        time.sleep(0.5)
    for client in [client for client, _ in slow] + half:
        client.close()
    of = lambda start, end: max(mb for passed, mb in seen if start <= passed < end)
    return of(HOLD / 4, HOLD / 2), of(HOLD / 2, HOLD * 3 / 4), of(HOLD * 3 / 4, HOLD), cut


shutil.which('wrk') or sys.exit('wrk is not installed: apt-get install wrk')
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
if most < 12_000:
    sys.exit(f'only {most} file descriptors are allowed')
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
home, children = tempfile.mkdtemp(prefix='pdpp-load-'), []
busy = os.getloadavg()[0]
try:
    data = os.path.join(home, 'sandbox')
    sandbox, sandbox_told = start('sandbox', '--listen', '127.0.0.1:0', '--json', '--auto-approve', '--data-dir', data)
    tokens = [grant(sandbox_told['url']) for _ in range(2)]
    host, url = start_host()
    plain = f'{sandbox_told["url"]}/v1/streams/events/records?limit={ROWS}'
    where = [('resource server, `/v1`', plain, None, sandbox), ("sandbox's own `/mcp`", sandbox_told['mcp_url'], call(ROWS), sandbox),
             ('`pdpp mcp host`', url, call(ROWS), host), ('`pdpp mcp host`, `tools/list`', url, LIST, host)]
    print(f'| Asked for {ROWS} records, or the tools | Connections | Requests/s | p50 ms | p99 ms | Failed | Processor ms a request: sandbox, host | RSS after, MB |')
    print('| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |')
    for connections in (1, 100, 1000):
        for what, at, body, process in where:
            taken = [-cpu(sandbox), -cpu(host)]
            answered, per_second, p50, p99, failed = load(at, connections, body)
            answered = max(answered, 1)
            taken = [(taken[0] + cpu(sandbox)) / answered, (taken[1] + cpu(host)) / answered]
            print(f'| {what} | {connections:,} | {per_second:,.0f} | {p50:.2f} | {p99:.2f} | {failed:.0f} | {taken[0]:.3f}, {taken[1]:.3f} '
                  f'| {memory(process):.0f} |', flush=True)
    before, during, still = idle(host, address(url))
    print(f'\n{still:,} idle connections: RSS {before:.0f} MB before, {during:.0f} MB with them.')
    # With large results, a client that reads no answer soon has some waiting.
    large, url = start_host('--max-result-bytes', '48000')
    second, third, last, cut = hold(large, address(url))
    print(f'{SLOW} clients that take no answer and {HALF} that never end their request, for {HOLD} s, each again once it is hung up on '
          f'({cut} times for the first kind): RSS at most {second:.0f}, {third:.0f} and {last:.0f} MB in the second, third and last quarter.')
    print(f'\n`mcp host` with `{" ".join(LIMITS)}`; {os.cpu_count()} processors, load average before: {busy:.1f}.')
finally:
    for child in children:
        child.send_signal(signal.SIGTERM)
    for child in children:
        child.wait()
    shutil.rmtree(home)
