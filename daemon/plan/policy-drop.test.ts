import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dropProblem, type PolicyDrop } from './policy-drop.ts';

const packet = { protocol: 'TCP', source: '10.16.0.7', destination: '10.16.0.9', port: 8080 };
const isolation: PolicyDrop = {
  origin: { direction: 'ingress', rules: undefined },
  pod: { namespace: 'shop', name: 'web' },
  packet,
  peer: { namespace: 'shop', name: 'cli' },
  isolating: [{ namespace: 'shop', name: 'closed' }],
};
const rule = {
  kind: 'ClusterNetworkPolicy',
  namespace: '',
  name: 'gate',
  direction: 'egress',
  rules: [2, 4],
  verdict: 'drop',
} as const;

describe('the words about a dropped packet', () => {
  it('name the policies that isolate the pod, and the command that explains it', () => {
    assert.deepEqual(dropProblem(isolation), {
      code: 'PolicyDrop',
      message:
        'ingress: TCP to port 8080 from 10.16.0.7 (pod shop/cli) was dropped, isolated by NetworkPolicy shop/closed, of which no rule allows it; "isthmus policy why shop/cli shop/web 8080/TCP" explains it',
    });
  });

  it('name the rules of a policy of the whole cluster', () => {
    assert.equal(
      dropProblem({ ...isolation, origin: rule, peer: undefined, isolating: [] }).message,
      'egress: TCP to port 8080 to 10.16.0.9 was dropped, denied by ClusterNetworkPolicy gate, spec.egress[2], spec.egress[4]; "isthmus policy why shop/web 10.16.0.9 8080/TCP" explains it',
    );
  });

  it('have no command for a protocol without ports', () => {
    const ping = { ...packet, protocol: 'ICMP', port: undefined };
    assert.equal(
      dropProblem({ ...isolation, packet: ping, peer: undefined }).message,
      'ingress: ICMP from 10.16.0.7 was dropped, isolated by NetworkPolicy shop/closed, of which no rule allows it',
    );
  });

  it('fit into an event however many policies there are', () => {
    const name = 'a'.repeat(63);
    const isolating = Array.from({ length: 200 }, (_, index) => ({ namespace: name, name: `${index}` }));
    const { message } = dropProblem({ ...isolation, isolating });
    assert.match(message, / and 195 more, of which no rule allows it; /);
    assert.ok(message.length < 1024);
  });
});
