/** Kube-OVN's speaker flags, which are values of the chart: sessions without objects. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { bgpAdvertisements, bgpInstances, bgpNodeStates } from '../../../lib/kube/resources.ts';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import type { FrrPeer } from './frr.ts';
import { isthmusBgp } from './isthmus.ts';
import { openSpeakerBed, type SpeakerBed } from './speaker-bed.ts';
import { counters, untilRoutes } from './until.ts';

const prefix = '10.20.0.0/24';
let bed: SpeakerBed;
let frr: FrrPeer;
let peer: string;

before(async () => {
  bed = await openSpeakerBed([{ kind: 'frr', name: 'frr', asn: 65101 }]);
  frr = bed.lab.frr('frr');
  peer = `(flags) ${frr.link.v4}`;
  await bed.killSpeaker();
  const flags = { NEIGHBOR_ADDRESS: frr.link.v4, NEIGHBOR_AS: String(frr.asn), CLUSTER_AS: '65001', HOLDTIME: '9' };
  bed.startSpeaker(['env', ...Object.entries(flags).map(([name, value]) => `ISTHMUS_${name}=${value}`)]);
  await bed.create(bgpAdvertisements, 'all', { source: 'Subnet' });
  await bed.createSubnet('web', prefix);
});

after(() => (bed as SpeakerBed | undefined)?.close());

async function instanceOf(node: string): Promise<string | undefined> {
  const { status } = (await bed.kube.get(bgpNodeStates, { name: node })) as { status?: { instance?: string } };
  return status?.instance;
}

test('sessions of the values are established, and `isthmus bgp` lists them', async () => {
  await untilRoutes(frr, [prefix]);
  await eventuallyPasses(async () => {
    const { code, out } = await isthmusBgp(bed.server.kubeconfig, 'peers');
    assert.match(out, new RegExp(`n1 +\\(flags\\) ${frr.link.v4} +${frr.link.v4} +65101 +Established`));
    assert.equal(code, 0);
  });
  await eventuallyPasses(async () => {
    const why = await isthmusBgp(bed.server.kubeconfig, 'why', prefix, '-o', 'json');
    const { answers } = JSON.parse(why.out) as { answers: { peer: string; state: string; advertisements: string[] }[] };
    assert.deepEqual(
      answers.map((answer) => [answer.peer, answer.state, answer.advertisements]),
      [[peer, 'Announced', ['all']]],
    );
  });
  const routes = await isthmusBgp(bed.server.kubeconfig, 'routes', '--peer', peer);
  assert.match(routes.out, /10\.20\.0\.0\/24/);
  assert.equal((await isthmusBgp(bed.server.kubeconfig, 'why', prefix, '--peer', 'other')).code, 1);
});

test('a BgpInstance that selects the node takes precedence over the values', async () => {
  await bed.create(bgpInstances, 'rack', { localASN: 65001 });
  await untilRoutes(frr, []);
  await eventuallyPasses(async () => assert.equal(await instanceOf('n1'), 'rack'));
  await bed.createPeer(frr, 4);
  await untilRoutes(frr, [prefix]);
  await eventuallyPasses(async () => {
    const why = await isthmusBgp(bed.server.kubeconfig, 'why', prefix);
    assert.match(why.out, /frr/);
    assert.ok(!why.out.includes('(flags)'), why.out);
  });
  const { established } = await counters(frr);
  await bed.kube.delete(bgpInstances, { name: 'rack' });
  await eventuallyPasses(async () => assert.ok((await counters(frr)).established > established));
  await untilRoutes(frr, [prefix]);
  await eventuallyPasses(async () => assert.equal(await instanceOf('n1'), '(flags)'));
});
