import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../model/pod.ts';
import type { Subnet } from '../../model/subnet.ts';
import { vouchedFor } from '../../testing-pods.ts';
import { aSandbox } from '../../testing-sandbox.ts';
import { parsePod } from '../../watch/pod.ts';
import { findStranded } from './stranded.ts';

function podIn(subnet: string, name: string): Pod {
  const annotations = {
    'ovn.kubernetes.io/allocated': 'true',
    'ovn.kubernetes.io/ip_address': '10.20.0.5',
    'ovn.kubernetes.io/mac_address': '0a:00:00:00:00:05',
    'ovn.kubernetes.io/cidr': '10.20.0.0/24',
    'ovn.kubernetes.io/gateway': '10.20.0.1',
    'ovn.kubernetes.io/logical_switch': subnet,
  };
  const metadata = { namespace: 'default', name, uid: `uid-${name}`, resourceVersion: '1', annotations };
  return parsePod(vouchedFor({ metadata }));
}

test('pods of a network that the node lacks are found, not pods of other networks or of networks in progress', () => {
  const pods = [podIn('flat', 'left'), podIn('ready', 'well'), podIn('soon', 'soon'), podIn('over', 'overlay')];
  const states: Readonly<Record<string, string>> = { flat: 'node n1 has the label x=true' };
  const report = { network: 'ready', isReady: true, nic: undefined, problem: undefined, plan: undefined };
  const found = findStranded({
    sandboxes: [...pods.map(({ name }) => name), 'gone'].map((podName) => ({ ...aSandbox, podName })),
    podOf: ({ podName }) => pods.find(({ name }) => name === podName),
    subnetOf: (name) =>
      ({ name, underlay: name === 'over' ? undefined : { provider: name, vlan: 0 } }) as unknown as Subnet,
    stateOf: (provider) => states[provider] ?? (provider === 'ready' ? report : undefined),
  });
  assert.deepEqual(
    found.map(({ pod, problem }) => [pod.name, problem.message]),
    [
      [
        'left',
        'interface eth0 has no connection: node n1 has the label x=true; add the node to the network again, or delete the pod',
      ],
    ],
  );
});
