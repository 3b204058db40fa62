/** The earliest moment at which a session's failure can be detected: before it, a timer of the protocol runs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openGobgp } from '../../../lib/gobgp/src/index.ts';
import type { FrrPeer } from '../../system/bgp/frr.ts';
import type { BgpBed } from './bed.ts';

/** A session that fails. */
export interface Site {
  readonly bed: BgpBed;
  readonly router: FrrPeer;
  /** Of its BgpPeer. */
  readonly name: string;
}

/** Created before the fault; the returned function then reports whether the sign is visible. */
export type Sign = (site: Site) => Promise<() => Promise<boolean>>;

/** gobgpd has given up the session. */
export const sessionEnded: Sign = async ({ bed, router }) => {
  return async () => {
    const gobgp = await openGobgp({ target: bed.gobgpd.target });
    try {
      const found = (await gobgp.listPeers()).find(({ config }) => config.address === router.link.v4);
      return found?.session.state !== 'Established';
    } finally {
      gobgp.close();
    }
  };
};

/** The router has refused an OPEN or had its own refused, with code 2 and this subcode: so it says in its log. */
export const openRefused =
  (subcode: number): Sign =>
  async ({ router }) => {
    await router.configure(`router bgp ${router.asn}`, 'bgp log-neighbor-changes');
    const look = (): number =>
      readFileSync(join(router.dir, 'bgpd.log'), 'utf8').split(`${router.link.nodeV4} 2/${subcode} (`).length;
    const before = look();
    return async () => look() > before;
  };

/** The node's kernel has refused a segment for its signature, and counted it as one of these. */
export const segmentRefused =
  (...counters: readonly string[]): Sign =>
  async ({ bed }) => {
    const look = (): number => {
      const text = readFileSync(`/proc/${bed.lab.node.pid}/net/netstat`, 'utf8');
      const [names = [], values = []] = text
        .split('\n')
        .filter((line) => line.startsWith('TcpExt:'))
        .map((line) => line.split(' '));
      return counters.reduce((sum, name) => sum + Number(values[names.indexOf(name)]), 0);
    };
    const before = look();
    return async () => look() > before;
  };
