import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinVerdict } from './join.ts';

const ready = { type: 'Ready', status: 'True', observedGeneration: 2 } as const;
const refused = { type: 'Joined', status: 'False', reason: 'TokenForeign', observedGeneration: 2 } as const;
const waiting = { type: 'Joined', status: 'False', reason: 'HubUnreachable', observedGeneration: 2 } as const;

test('joining ends when the cluster is ready, or when a refusal outlasts a second attempt', () => {
  assert.equal(joinVerdict([ready], 2, 0), ready);
  assert.equal(joinVerdict([ready], 3, 0), undefined, 'of another spec');
  assert.equal(joinVerdict([refused], 2, 7999), undefined, 'it may be of the token before');
  assert.equal(joinVerdict([refused], 2, 8000), refused);
  assert.equal(joinVerdict([refused], 3, 60_000), undefined);
  assert.equal(joinVerdict([waiting], 2, 60_000), undefined, 'that may pass');
});
