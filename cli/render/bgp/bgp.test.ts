/** Golden files of the output about BGP. `--test-update-snapshots` rewrites them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { peerOf } from '../../../lib/bgp/testing.ts';
import { findTarget } from '../../plan/bgp/question.ts';
import { listAnnounced, listLearned, listRefused } from '../../plan/bgp/routes.ts';
import { listSessions } from '../../plan/bgp/sessions.ts';
import { explain } from '../../plan/bgp/why.ts';
import { nowMs, objects, readingOf } from '../../testing-bgp.ts';
import { paintFor } from '../paint.ts';
import { renderAnnounced, renderLearned } from './routes.ts';
import { renderSessions } from './sessions.ts';
import { renderWhy } from './why.ts';

const plain = paintFor(false);
const all = { node: undefined, peer: undefined, prefix: undefined };

function matches(context: TestContext, name: string, text: string): void {
  context.assert.fileSnapshot(text, join(import.meta.dirname, 'testdata', `${name}.txt`), { serializers: [String] });
}

test('sessions that are up or down, and peers without a node', (t) => {
  const peers = [
    ...objects.peers,
    peerOf('twin', '10.0.0.254', {}, '2024-02-01T00:00:00Z'),
    peerOf('nowhere', '10.0.0.9', { nodeSelector: { matchLabels: { rack: 'z' } } }),
    peerOf('stray', '10.0.0.8', { instance: 'gone' }),
    peerOf('new', '10.0.0.7', { nodeSelector: { matchLabels: { rack: 'a' } } }),
  ];
  matches(t, 'sessions', renderSessions(listSessions(readingOf({ peers }), all), nowMs, plain));
});

test('no session', (t) => {
  matches(t, 'sessions-none', renderSessions(listSessions(readingOf({ peers: [] }, {}), all), nowMs, plain));
});

test('routes', (t) => matches(t, 'routes', renderAnnounced(listAnnounced(readingOf(), all), plain)));

test('learned routes', (t) =>
  matches(t, 'learned', renderLearned(listLearned(readingOf(), all), listRefused(readingOf(), all), plain)));

for (const [name, text] of Object.entries({
  'why-pod': 'pod/default/web',
  'why-aggregate': 'pod/db',
  'why-not-ready': 'pod/sick',
  'why-address': '10.16.0.8',
  'why-service': 'svc/default/lb',
  'why-no-address': 'pod/host',
  'why-prefix': '10.99.0.0/24',
  'why-refused': '10.96.0.0/16',
})) {
  test(`why ${text}`, (t) => {
    const reading = readingOf();
    const target = findTarget(reading.state, text);
    assert.ok(target);
    matches(t, name, renderWhy(explain(reading, target, all), plain));
  });
}
