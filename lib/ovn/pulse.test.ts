import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OvsdbConnectionLost, TransactionRejected, type OperationResult } from 'ovsdb-client';
import { Pulse } from './pulse.ts';

/** A database whose answers are given by the test. */
class Asked {
  readonly answers: PromiseWithResolvers<readonly OperationResult[]>[] = [];

  transact(): Promise<readonly OperationResult[]> {
    const answer = Promise.withResolvers<readonly OperationResult[]>();
    this.answers.push(answer);
    return answer.promise;
  }
}

describe('the pulse of a database', () => {
  it('counts from the first question that has no answer, until one has', async () => {
    const client = new Asked();
    let nowMs = 1000;
    const pulse = new Pulse({ client, now: () => nowMs });
    const first = pulse.beat();
    nowMs = 2000;
    await pulse.beat();
    assert.equal(client.answers.length, 1, 'no second question beside one that is out');
    assert.deepEqual([pulse.silentSinceMs(1001), pulse.silentSinceMs(1000)], [undefined, 1000]);
    client.answers[0]?.reject(new OvsdbConnectionLost('gone'));
    await first;
    const second = pulse.beat();
    nowMs = 9000;
    assert.equal(pulse.silentSinceMs(1000), 1000, 'a lost connection is no answer');
    client.answers[1]?.resolve([]);
    await second;
    assert.equal(pulse.unansweredMs, undefined);
  });

  it('takes a refusal for an answer, and lets a defect surface', async () => {
    const client = new Asked();
    const pulse = new Pulse({ client, now: () => 0 });
    const refused = pulse.beat();
    client.answers[0]?.reject(new TransactionRejected({ error: 'not allowed', details: undefined }));
    await refused;
    assert.equal(pulse.unansweredMs, undefined);
    const defect = pulse.beat();
    client.answers[1]?.reject(new TypeError('defect'));
    await assert.rejects(defect, TypeError);
  });
});
