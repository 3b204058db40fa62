import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type GobgpClient, GobgpInvalidArgument, GobgpRejected, GobgpUnsupported, type PeerConfig } from 'gobgp-js';
import { peerOf } from '../../lib/bgp/testing.ts';
import { planSpeaker } from '../plan/plan.ts';
import { stateOf } from '../plan/testing.ts';
import { applySteps } from './apply-steps.ts';
import { diffSteps, fresh } from './steps.ts';

test('a peer that gobgpd refuses or cannot be sent has a problem, and the others are added', async () => {
  const peers = ['10.0.0.250', '10.0.0.251', '10.0.0.252', '10.0.0.253'].map((address, at) =>
    peerOf(`tor${at}`, address),
  );
  const steps = diffSteps(planSpeaker(stateOf({ peers })), fresh());
  assert.ok(steps);
  const errors: Readonly<Record<string, Error>> = {
    '10.0.0.250': new GobgpUnsupported('BFD'),
    '10.0.0.251': new GobgpRejected('AddPeer', 'no'),
    '10.0.0.252': new GobgpInvalidArgument('cannot be'),
  };
  const added: string[] = [];
  const addPeer = async ({ address }: PeerConfig): Promise<void> => {
    const error = errors[address];
    if (error) throw error;
    added.push(address);
  };
  const client = new Proxy(
    { addPeer, generation: 'v4' },
    {
      get: (target, key) => Reflect.get(target, key) ?? (async () => {}),
    },
  ) as unknown as GobgpClient;
  const refused = await applySteps(client, steps, () => false);
  assert.deepEqual(
    [...refused].map(([address, { code }]) => `${address} ${code}`),
    ['10.0.0.250 Unsupported', '10.0.0.251 Rejected', '10.0.0.252 InvalidArgument'],
  );
  assert.match(refused.get('10.0.0.252')?.message ?? '', /cannot be/);
  assert.deepEqual(added, ['10.0.0.253']);
});
