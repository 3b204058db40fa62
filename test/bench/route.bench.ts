/** A Subnet until the router has its prefix, against a path handed to the same gobgpd by its own client. */
import { join } from 'node:path';
import { openGobgp } from 'gobgp-js';
import { annotation } from '../../lib/api/names.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import { apiVersionOf, subnets } from '../../lib/kube/resources.ts';
import { Vty } from '../system/bgp/vty.ts';
import type { LabHandle } from '../lab/lib/lab.ts';
import { classTag } from './class-tag.ts';
import { median, type Row, whileFrozen } from './row.ts';
import { untilRoute } from './router-polls.ts';

const count = 10;

async function announce(lab: LabHandle, router: Vty, nextHop: string): Promise<{ made: number[]; taken: number[] }> {
  const kube = lab.kube('east');
  const seen = reflect({
    client: kube,
    resource: subnets,
    parse: ({ metadata }) => metadata.annotations?.[annotation.accepted],
  });
  await seen.synced;
  const times = { made: [] as number[], taken: [] as number[] };
  for (let at = 0; at < count; at += 1) {
    const name = `route-${at}`;
    const prefix = `10.80.${at}.0/24`;
    const accepted = new Promise<number>((resolve) => {
      const stop = seen.subscribe(({ key, after }) => {
        if (key !== name || after === undefined) return;
        stop();
        resolve(performance.now());
      });
    });
    const started = performance.now();
    const arrived = untilRoute(router, prefix, nextHop);
    await kube.create(subnets, {
      apiVersion: apiVersionOf(subnets),
      kind: subnets.kind,
      metadata: { name },
      spec: { cidrBlock: prefix },
    });
    const arrivedAt = await arrived;
    times.made.push(arrivedAt - started);
    times.taken.push(arrivedAt - (await accepted));
    await kube.delete(subnets, { name });
    await untilRoute(router, prefix, nextHop, { isThere: false });
  }
  await seen.stop();
  await kube.close();
  return times;
}

/** The speaker is frozen, as it would withdraw a path that it did not plan. The paths have the class of a Subnet's, which the policies export. */
async function announceBare(socket: string, router: Vty, nextHop: string): Promise<number[]> {
  const gobgp = await openGobgp({ target: `unix:${socket}` });
  const tag = await classTag(gobgp);
  const prefixes = Array.from({ length: count }, (_, at) => `10.81.${at}.0/24`);
  const times: number[] = [];
  for (const prefix of prefixes) {
    const started = performance.now();
    const arrived = untilRoute(router, prefix, nextHop);
    await gobgp.addPaths([{ prefix, attributes: { nextHop: '0.0.0.0', largeCommunities: [tag] } }]);
    times.push((await arrived) - started);
  }
  await gobgp.withdrawPaths(prefixes);
  gobgp.close();
  return times;
}

export async function measure(lab: LabHandle): Promise<Row[]> {
  const [node] = lab.cluster('east').nodes;
  if (node === undefined) throw new Error('the lab has no node');
  const router = await Vty.open(join(lab.router('tor').dir, 'bgpd.vty'));
  const ours = await announce(lab, router, node.address);
  const floor = median(
    await whileFrozen(lab, 'east/n1', 'speaker', () =>
      announceBare(join(node.dir, 'gobgpd.sock'), router, node.address),
    ),
  );
  router.close();
  const floorIs = '`gobgp-js` addPaths on the same gobgpd → FRR';
  return [
    { what: `Subnet accepted → FRR, median of ${String(count)}`, unit: 'ms', ours: median(ours.taken), floor, floorIs },
    { what: `Subnet created → FRR, median of ${String(count)}`, unit: 'ms', ours: median(ours.made), floor, floorIs },
  ];
}
