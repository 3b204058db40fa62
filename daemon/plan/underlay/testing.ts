/** A hardware interface without addresses and routes, for tests of this folder. */
import type { Nic } from '../../model/nic.ts';

export const plainNic: Omit<Nic, 'name' | 'index'> = {
  mac: '02:00:00:00:00:01',
  mtu: 1500,
  isUp: true,
  hasLink: true,
  isLoopback: false,
  kind: '',
  master: undefined,
  vlan: undefined,
  addresses: [],
  routes: [],
  multipath: [],
};
