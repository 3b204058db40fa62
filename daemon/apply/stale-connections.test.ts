import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UdpEntry } from '../../lib/netlink/conntrack.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import type { Family } from '../../lib/net/ip.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { udpFrontend } from '../testing-frontends.ts';
import { StaleConnections } from './stale-connections.ts';

const [gone, kept] = ['10.16.0.2 . 53', '10.16.0.3 . 53'] as const;

function entry(endpoint: string): UdpEntry {
  const client = { source: '192.0.2.1', sourcePort: 4000 };
  return {
    family: 4,
    original: { ...client, destination: '10.96.0.10', destinationPort: 53 },
    reply: { source: endpoint, sourcePort: 53, destination: client.source, destinationPort: client.sourcePort },
  };
}

function bed(refusal?: NetlinkError) {
  const deleted: string[] = [];
  const forgotten: string[] = [];
  const warnings: string[] = [];
  let calls = 0;
  const connections = new StaleConnections({
    flows: {
      deleteIf: (family: Family, isStale) => {
        calls += 1;
        if (refusal !== undefined) return Promise.reject(refusal);
        const stale = ['10.16.0.2', '10.16.0.3'].filter((endpoint) => isStale(entry(endpoint)));
        deleted.push(...stale.map((endpoint) => `${family} ${endpoint}`));
        return Promise.resolve(stale.length);
      },
    },
    clients: {
      forgetClients: (_, isStale) => {
        const clients = [gone, kept].filter((endpoint) => isStale('192.0.2.1 . 10.96.0.10 . 17 . 53', endpoint));
        forgotten.push(...clients);
        return Promise.resolve();
      },
    },
    nodeAddresses: () => new Set(),
    log: { info: () => undefined, warn: (_: unknown, message?: string) => void warnings.push(message ?? '') },
  });
  return { connections, deleted, forgotten, warnings, calls: () => calls };
}

test('only connections and clients of a removed endpoint are ended', async () => {
  const { connections, deleted, forgotten } = bed();
  const sticky = { affinitySeconds: 60 };
  connections.add([{ before: udpFrontend([gone, kept], sticky), after: udpFrontend([kept], sticky) }]);
  await eventually('both', () => deleted.length > 0 && forgotten.length > 0);
  assert.deepEqual([deleted, forgotten], [['4 10.16.0.2'], [gone]]);
  await connections.close();
});

test('a kernel that does not list connections is reported once, and no further list is requested', async () => {
  const { connections, forgotten, warnings, calls } = bed(new NetlinkError('EINVAL', 'connections'));
  connections.add([{ before: undefined, after: udpFrontend([kept]) }]);
  await eventually('the warning', () => warnings.length > 0);
  connections.add([{ before: undefined, after: udpFrontend([kept], { affinitySeconds: 60 }) }]);
  await eventually('the next round', () => forgotten.length > 0);
  assert.deepEqual([warnings.length, calls()], [1, 1]);
  assert.match(warnings[0] ?? '', /load the module nf_conntrack_netlink/);
  await connections.close();
});
