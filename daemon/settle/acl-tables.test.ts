import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AclFlow } from '../model/acl-flow.ts';
import type { FlowCount } from '../model/flow-count.ts';
import { inTableOfAcl } from './acl-tables.ts';

const acl = (pipeline: AclFlow['pipeline'], stage: number): AclFlow => ({
  direction: pipeline === 'ingress' ? 'egress' : 'ingress',
  rules: undefined,
  pipeline,
  stage,
});

const flow = (cookie: number, table: number): FlowCount => ({
  cookie,
  table,
  flow: `${cookie} ${table}`,
  ageMs: 0,
  packets: 0,
  output: undefined,
});

const tablesOf = (flows: readonly FlowCount[]): readonly string[] => flows.map((one) => one.flow);

test('flows of other tables with the cookie of an ACL are not those of the ACL', () => {
  const acls = new Map([
    [1, acl('ingress', 17)],
    [2, acl('egress', 4)],
    [3, acl('egress', 5)],
  ]);
  const own = [flow(1, 25), flow(2, 44), flow(2, 44), flow(3, 45)];
  // Flows of a port, of another stage, and many of one colliding cookie.
  const others = [flow(1, 65), flow(1, 24), flow(2, 37), ...Array.from({ length: 5 }, () => flow(3, 30)), flow(9, 25)];
  assert.deepEqual(tablesOf(inTableOfAcl([...others, ...own], acls)), tablesOf(own));
});

test('the first table of the egress pipeline is that of the version of OVN', () => {
  const acls = new Map([
    [2, acl('egress', 4)],
    [3, acl('egress', 6)],
  ]);
  for (const first of [40, 47]) {
    const own = [flow(2, first + 4), flow(3, first + 6)];
    assert.deepEqual(tablesOf(inTableOfAcl(own, acls)), tablesOf(own));
  }
  assert.deepEqual(inTableOfAcl([], acls), []);
});
