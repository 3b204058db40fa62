/**
 * The speaker without Kubernetes: a state of very many pods comes in at once, the planner and the target of the speaker work on
 * it, and the milliseconds until the router has all, and until they were planned, are printed.
 * Arguments: gobgpd, the router's address, the node's, the socket of the router's bgpd, how many.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { chooseInstance } from '../../../lib/bgp/instance.ts';
import { advertisementOf, nodeOf, peerOf, podOf, subnetOf } from '../../../lib/bgp/testing.ts';
import { GobgpTarget } from '../../../speaker/apply/target.ts';
import { UpdateLag } from '../../../speaker/apply/update-lag.ts';
import { SpeakerPlanner } from '../../../speaker/plan/plan.ts';
import { stateOf } from '../../../speaker/plan/testing.ts';
import { Vty } from '../../system/bgp/vty.ts';
import { prefixesOf } from '../router-polls.ts';
import { addressOf } from './pods.ts';

const [gobgpd = '', peer = '', address = '', socket = '', text = ''] = process.argv.slice(2);
const count = Number(text);

const objects = {
  nodes: [nodeOf('n1', [address])],
  peers: [peerOf('tor1', peer, { asn: 65101 })],
  advertisements: [advertisementOf('all', { source: 'Pod' })],
  subnets: [subnetOf('web', ['10.128.0.0/14'])],
};
const empty = stateOf(objects);
const pods = Array.from({ length: count }, (_, at) => podOf(`web-${at}`, [addressOf(at)]));
const full = stateOf({ ...objects, pods });

const planner = new SpeakerPlanner();
const choice = chooseInstance(full);
const everything = { isEverything: true, objects: [] };
let isEstablished = false;
const target = new GobgpTarget({
  gobgpd,
  log: pino({ level: 'silent' }),
  random: Math.random,
  monotonicMs: () => performance.now(),
  onReceived: () => undefined,
  onAudit: () => undefined,
  lag: new UpdateLag(
    () => performance.now(),
    () => undefined,
  ),
  onObserved: ({ sessions }) => {
    isEstablished = sessions.get(peer)?.state === 'Established';
  },
});
const stop = new AbortController();
target.set(planner.plan(empty, everything, choice, 'None'));
const running = target.run(stop.signal);
const vty = await Vty.open(socket);

const told = (): Promise<number> => prefixesOf(vty, address);

async function until(isSo: () => Promise<boolean> | boolean): Promise<number> {
  for (const end = performance.now() + 90_000; !(await isSo()); await pause(5))
    if (performance.now() > end) throw new Error(`the router has ${await told()} prefixes after 90 s`);
  return performance.now();
}

await until(() => isEstablished);
await until(async () => (await told()) === 0);
const started = performance.now();
target.set(planner.plan(full, everything, choice, 'None'));
const planned = performance.now();
const arrived = await until(async () => (await told()) === count);
process.stdout.write(`${arrived - started} ${planned - started}`);
target.set(planner.plan(empty, everything, choice, 'None'));
await until(async () => (await told()) === 0);
stop.abort();
await running;
vty.close();
process.exit();
