import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeApiError, KubeUnreachable } from '../../lib/kube/errors.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { PolicyDeletions, type PolicyDeletionsTiming } from './policy-deletions.ts';

/** Questions to the API server, which the test answers. */
function bed(t: { after: (end: () => void) => void }, timing: Partial<PolicyDeletionsTiming> = {}) {
  const questions: { readonly name: string; answer: (isDeleting: boolean) => void; fail: (error: Error) => void }[] =
    [];
  const delivered: string[] = [];
  const warnings: unknown[] = [];
  const stop = new AbortController();
  t.after(() => stop.abort());
  const deletions = new PolicyDeletions({
    client: {
      get: (_, { name }) =>
        new Promise<RawObject>((resolve, reject) => {
          const answer = (isDeleting: boolean): void =>
            resolve({
              kind: 'Namespace',
              metadata: {
                name,
                uid: name,
                resourceVersion: '1',
                ...(isDeleting && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
              },
            });
          questions.push({ name, answer, fail: reject });
        }),
    },
    signal: stop.signal,
    log: { warn: (fields: unknown) => warnings.push(fields) } as never,
    deliver: (key) => delivered.push(key),
    timing: { retryMs: 1, ...timing },
  });
  const asked = (count: number) => eventually(`${count} questions were asked`, () => questions[count - 1]);
  return { deletions, questions, delivered, warnings, stop, asked };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('the deletion of a policy', () => {
  it('is delivered once the API server says that its Namespace stays', async (t) => {
    const { deletions, delivered, asked } = bed(t);
    deletions.namespaceChanged('shop', { isDeleting: false });
    deletions.deleted('shop/web');
    const question = await asked(1);
    assert.deepEqual([question.name, delivered], ['shop', []]);
    question.answer(false);
    await eventually('it is delivered', () => delivered.length === 1);
    assert.deepEqual(delivered, ['shop/web']);
  });

  it('comes after that of a Namespace of which the watch is behind', async (t) => {
    for (const last of [{ isDeleting: true }, undefined]) {
      const { deletions, delivered, asked } = bed(t);
      deletions.namespaceChanged('shop', { isDeleting: false });
      deletions.deleted('shop/web');
      (await asked(1)).answer(true);
      await settled();
      deletions.namespaceChanged('other', { isDeleting: true });
      deletions.namespaceChanged('shop', { isDeleting: false });
      await settled();
      assert.deepEqual(delivered, []);
      deletions.namespaceChanged('shop', last);
      await eventually('it is delivered', () => delivered.length === 1);
    }
  });

  it('waits for a Namespace that is gone already', async (t) => {
    const { deletions, delivered, asked } = bed(t);
    deletions.namespaceChanged('shop', { isDeleting: false });
    deletions.deleted('shop/web');
    (await asked(1)).fail(new KubeApiError(404, 'NotFound', 'no namespace shop'));
    await settled();
    assert.deepEqual(delivered, []);
    deletions.namespaceChanged('shop', undefined);
    await eventually('it is delivered', () => delivered.length === 1);
  });

  it('is delivered at once in a Namespace that is being deleted, or that nobody knows', (t) => {
    const { deletions, delivered, questions } = bed(t);
    deletions.namespaceChanged('shop', { isDeleting: true });
    deletions.deleted('shop/web');
    deletions.deleted('gone/web');
    assert.deepEqual([delivered, questions.length], [['shop/web', 'gone/web'], 0]);
  });

  it('needs an answer that is younger, and one for many', async (t) => {
    const { deletions, delivered, questions, asked } = bed(t);
    deletions.namespaceChanged('shop', { isDeleting: false });
    for (const name of ['a', 'b', 'c']) deletions.deleted(`shop/${name}`);
    // The first one was alone when the question was sent.
    (await asked(1)).answer(false);
    const second = await asked(2);
    assert.deepEqual(delivered, ['shop/a']);
    deletions.exists('shop/b');
    deletions.exists('shop/c');
    deletions.deleted('shop/c');
    second.answer(false);
    (await asked(3)).answer(false);
    await eventually('c is delivered', () => delivered.length === 2);
    assert.deepEqual([delivered, questions.length], [['shop/a', 'shop/c'], 3]);
  });

  it('waits while there is no answer', async (t) => {
    const { deletions, delivered, warnings, asked } = bed(t);
    deletions.namespaceChanged('shop', { isDeleting: false });
    deletions.deleted('shop/web');
    (await asked(1)).fail(new KubeUnreachable('no answer'));
    (await asked(2)).fail(new KubeApiError(403, 'Forbidden', 'no right'));
    const third = await asked(3);
    assert.deepEqual([delivered, warnings.length], [[], 1]);
    third.answer(false);
    await eventually('it is delivered', () => delivered.length === 1);
  });

  it('is delivered where the watch has missed the end of a Namespace, because there is another one of its name', async (t) => {
    const { deletions, delivered, asked } = bed(t, { againMs: 1 });
    deletions.namespaceChanged('shop', { isDeleting: false });
    deletions.deleted('shop/web');
    (await asked(1)).answer(true);
    const second = await asked(2);
    assert.deepEqual(delivered, []);
    deletions.namespaceChanged('shop', { isDeleting: false });
    second.answer(false);
    await eventually('it is delivered', () => delivered.length === 1);
  });

  it('in many Namespaces costs a few questions at once, and one warning while there is no answer', async (t) => {
    const { deletions, questions, delivered, warnings } = bed(t, { parallel: 2 });
    const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
    for (const name of names) deletions.namespaceChanged(name, { isDeleting: false });
    for (const name of names) deletions.deleted(`${name}/web`);
    await settled();
    assert.equal(questions.length, 2);
    for (let done = 0; delivered.length < names.length; done += 1) {
      const question = await eventually(`question ${done} was asked`, () => questions[done]);
      assert.ok(questions.length <= done + 2, 'at most two wait for an answer');
      if (done < names.length) question.fail(new KubeUnreachable('no answer'));
      else question.answer(false);
      await settled();
      if (done === names.length - 1) assert.deepEqual([delivered, warnings.length], [[], 1]);
    }
    assert.deepEqual(delivered.toSorted(), names.map((name) => `${name}/web`).toSorted());
  });

  it('is nobody’s business after the end', async (t) => {
    const { deletions, delivered, stop, asked } = bed(t);
    deletions.namespaceChanged('shop', { isDeleting: false });
    deletions.deleted('shop/web');
    const question = await asked(1);
    stop.abort();
    question.fail(new KubeUnreachable('aborted'));
    await settled();
    assert.deepEqual(delivered, []);
  });
});
