import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { CommandFailed } from '../command/failure.ts';
import { fetchMetrics, parseMetrics } from './metrics.ts';

const text = `# HELP a_total counts
# TYPE a_total counter
a_total 3
a_seconds_bucket{le="0.5",cluster="we\\"st"} 2
a_seconds_bucket{le="+Inf",cluster="we\\"st"} 4 1700000000000
odd line
`;

describe('metrics', () => {
  let server: Server;
  let url: string;
  const signal = new AbortController().signal;
  before(async () => {
    server = createServer((request, response) => {
      if (request.url === '/metrics') response.end(text);
      else if (request.url === '/absent') response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  it('are parsed as the text format has them', () => {
    assert.deepEqual(parseMetrics(text), [
      { name: 'a_total', labels: {}, value: 3 },
      { name: 'a_seconds_bucket', labels: { le: '0.5', cluster: 'we"st' }, value: 2 },
      { name: 'a_seconds_bucket', labels: { le: '+Inf', cluster: 'we"st' }, value: 4 },
    ]);
  });

  it('are fetched; any other answer is an error with its address', async () => {
    assert.equal((await fetchMetrics(`${url}/metrics`, 1000, signal)).length, 3);
    const fails = (words: RegExp) => (error: unknown) =>
      error instanceof CommandFailed && error.exitCode === 3 && words.test(error.message);
    await assert.rejects(fetchMetrics(`${url}/absent`, 1000, signal), fails(/\/absent: answered 404/));
    await assert.rejects(fetchMetrics(`${url}/silent`, 100, signal), fails(/no answer within 100 ms/));
    await assert.rejects(fetchMetrics('http://127.0.0.1:1/metrics', 1000, signal), fails(/127\.0\.0\.1:1/));
  });
});
