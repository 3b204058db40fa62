import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge, type ChassisRequest } from './certificate-requests.ts';

const daemon = 'system:serviceaccount:kube-system:isthmus-daemon';
const situation = {
  daemon,
  certified: new Map([
    ['n1', 'chassis-1'],
    ['gone', 'chassis-9'],
  ]),
  hasNode: (name: string) => ['n1', 'n2'].includes(name),
};
const good: ChassisRequest = {
  username: daemon,
  node: 'n2',
  usages: ['digital signature', 'client auth'],
  chassis: 'chassis-2',
};

test('a daemon gets the certificate of its own node’s chassis', () => {
  assert.deepEqual(judge(good, situation), { verdict: 'issue', node: 'n2', chassis: 'chassis-2' });
  assert.equal(judge({ ...good, node: 'n1', chassis: 'chassis-1' }, situation).verdict, 'issue', 'again');
  assert.equal(judge({ ...good, node: 'n1', chassis: 'other' }, situation).verdict, 'issue', 'by another name');
  assert.equal(judge({ ...good, chassis: 'chassis-9' }, situation).verdict, 'issue', 'of a node that is gone');
});

const refusals: readonly (readonly [why: RegExp, change: Partial<ChassisRequest>])[] = [
  [/system:admin may not request/, { username: 'system:admin' }],
  [/not bound to a pod/, { node: undefined }],
  [/no Node n7/, { node: 'n7' }],
  [/not for server auth/, { usages: ['client auth', 'server auth'] }],
  [/not a PKCS #10 request/, { chassis: undefined }],
  [/not a valid chassis name/, { chassis: 'a b' }],
  [/chassis-1 belongs to node n1/, { chassis: 'chassis-1' }],
];
for (const [why, change] of refusals) {
  test(`refused: ${why.source}`, () => {
    const judgement = judge({ ...good, ...change }, situation);
    assert.ok(judgement.verdict === 'deny');
    assert.match(judgement.message, why);
  });
}
