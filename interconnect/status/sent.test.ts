import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Sent } from './sent.ts';

const [first, second, third] = [{ n: 1 }, { n: 2 }, { n: 3 }];
const present = (status: object, uid = 'u') => ({ uid, status: status as Record<string, unknown> });

describe('statuses that were sent', () => {
  it('count until the watch reports them, although it may report older ones first', () => {
    const sent = new Sent();
    sent.set('a', second, { before: first, uid: 'u' });
    sent.seen('a', present(first));
    sent.set('a', third, { before: second, uid: 'u' });
    sent.seen('a', present(second));
    assert.equal(sent.get('a'), third);
    sent.seen('a', present(third));
    assert.equal(sent.has('a'), false);
  });

  it('yield to a write of another client, to another object of the name, and to its deletion', () => {
    for (const seen of [present({ n: 9 }), present(first, 'v'), undefined]) {
      const sent = new Sent();
      sent.set('a', second, { before: first, uid: 'u' });
      sent.seen('a', seen);
      assert.equal(sent.has('a'), false);
    }
  });

  it('of an object that is being created belong to the object that is then observed', () => {
    const sent = new Sent();
    sent.set('a', first, { before: {}, uid: undefined });
    sent.seen('a', present({}));
    assert.equal(sent.get('a'), first);
    sent.seen('a', present({}, 'v'));
    assert.equal(sent.has('a'), false);
  });

  it('can be written again after they were written once', () => {
    const sent = new Sent();
    sent.set('a', second, { before: first, uid: 'u' });
    sent.set('a', first, { before: second, uid: 'u' });
    sent.seen('a', present(second));
    assert.equal(sent.get('a'), first);
    sent.seen('a', present(first));
    assert.equal(sent.has('a'), false);
    sent.set('a', second, { before: first, uid: 'u' });
    sent.forget('a', first);
    assert.ok(sent.has('a'));
    sent.forget('a', second);
    assert.ok(!sent.has('a'));
  });
});
