/** A sandbox as ADD records it, for unit tests. */
import type { Sandbox } from './model/sandbox.ts';

export const aSandbox: Sandbox = {
  containerId: 'c1',
  ifname: 'eth0',
  network: 'isthmus',
  provider: 'ovn',
  port: 'web.default',
  netns: '/var/run/netns/x',
  podNamespace: 'default',
  podName: 'web',
  podUid: 'u1',
  hostInterface: 'abc_h',
  mac: '02:00:00:00:00:01',
  ips: ['10.16.0.5'],
};
