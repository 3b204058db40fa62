import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aclText, isolationText, withAclText } from '../../../lib/policies/acl-text.ts';
import { clusterGroup, isolationGroup } from '../../../lib/policies/group-names.ts';
import type { PolicyReading } from '../../model/policy-reading.ts';
import { clusterOf, clusterPolicyOf, closed, hostOf, namespaceOf, podOf, policyOf } from '../../testing-policies.ts';
import { answerOfOvn, parseTrace, type OvnAnswer } from './trace.ts';
import { explainPolicies } from './why.ts';

const ports = { from: 'client.shop', to: 'web.shop' };
const web = policyOf('web', { podSelector: {}, ingress: [{ ports: [{ port: 'http' }] }] });
const gate = clusterPolicyOf('ClusterNetworkPolicy/gate', { egress: [{ action: 'Deny', to: [{ namespaces: {} }] }] });

function reading(): PolicyReading {
  const pods = [podOf('client', { ips: ['10.16.0.3'] }), podOf('web')];
  const all = { ...namespaceOf(pods, [web, closed('Egress')]), ...clusterOf([gate]) };
  const [from, to] = all.pods.map(hostOf);
  assert.ok(from && to);
  return { ...all, from, to, port: { protocol: 'tcp', number: 8080 } };
}

/** The flow of an ACL in a stage, as ovn-trace prints it. */
const flow = (stage: string, match: string) =>
  ` 8. ${stage} (northd.c:1): ${match}, priority 2001, uuid 0a1b2c3d\n    next;`;
const group = (direction: 'in' | 'out', name: string, rest = 'ip') =>
  `reg8[30..31] == 3 && reg0[7] == 1 && (${direction}port == @${name} && ${rest})`;
const tierEnd = 'reg8[30..31] == 0 && (ip)';
const sent = (...lines: readonly string[]) =>
  ['ingress(dp="ovn-default", inport="client.shop")', '---', ...lines].join('\n');
const received = (...lines: readonly string[]) =>
  ['egress(dp="ovn-default", inport="client.shop", outport="web.shop")', '---', ...lines].join('\n');
const output = '    output;\n    /* output to "web.shop", type "" */';

function answer(parts: readonly string[], allowed = { ingress: true, egress: true }): OvnAnswer {
  return answerOfOvn({ ports }, parts.join('\n\n'), allowed);
}

describe('the output of ovn-trace', () => {
  test('is read by pipelines, with the stages of each', () => {
    const sections = parseTrace(
      [
        '# tcp,reg14=0x3',
        sent(flow('ls_in_pre_acl', 'ip'), '\nct_lb_mark\n----------', flow('ls_in_acl_eval', 'a, priority, b')),
        received(flow('ls_out_apply_port_sec', '1'), output),
      ].join('\n\n'),
    );
    assert.deepEqual(
      sections.map(({ pipeline, inport, outport, lines, isLeft }) => [
        pipeline,
        inport,
        outport,
        lines.map(({ stage, match }) => `${stage}: ${match}`),
        isLeft,
      ]),
      [
        ['ingress', 'client.shop', '', ['ls_in_pre_acl: ip', 'ls_in_acl_eval: a, priority, b'], true],
        ['egress', 'client.shop', 'web.shop', ['ls_out_apply_port_sec: 1'], true],
      ],
    );
  });

  test('names the policy that lets a packet pass, on each end', () => {
    const gateText = withAclText('ip4', aclText('ClusterNetworkPolicy/gate', 'egress', [0], 'allow'));
    const webText = withAclText('ip4', aclText('shop/web', 'ingress', [0], 'allow'));
    const { verdict, agrees, ends } = answer([
      sent(
        flow('ls_in_acl', 'inport == @ovn.sg.x && ip'),
        flow('ls_in_acl_after_lb', group('in', 'np.00.out', gateText)),
      ),
      received(flow('ls_out_acl', group('out', 'np.00.port', webText)), output),
    ]);
    assert.deepEqual([verdict, agrees], ['allowed', true]);
    assert.deepEqual(
      ends.map(({ direction, stage, by, decider }) => [direction, stage, by, decider]),
      [
        ['egress', 'ls_in_acl_after_lb', 'ClusterNetworkPolicy gate', 'policies'],
        ['ingress', 'ls_out_acl', 'NetworkPolicy shop/web', 'policies'],
      ],
    );
  });

  test('names what drops a packet, and what always passes', () => {
    const described = (match: string, isPassed: boolean) => {
      const parts = [
        sent(),
        received(
          flow('ls_out_acl_eval', tierEnd),
          flow('ls_out_acl_eval', match),
          isPassed ? output : flow('ls_out_acl_action', 'reg8[17] == 1'),
        ),
      ];
      const { verdict, ends } = answer(parts, { egress: true, ingress: isPassed });
      return [verdict, ends[1]?.by, ends[1]?.agrees];
    };
    const isolated = isolationGroup('ingress');
    assert.deepEqual(described(group('out', isolated, `ip4 /* ${isolationText('ingress')} */`), false), [
      'denied',
      'the drop of what no NetworkPolicy allows',
      true,
    ]);
    assert.deepEqual(described(group('out', isolated, 'icmp6.type == 135'), true), [
      'allowed',
      'what always passes',
      true,
    ]);
    assert.deepEqual(described(group('out', clusterGroup('ingress'), 'icmp6'), true), [
      'allowed',
      'what always passes',
      true,
    ]);
    assert.deepEqual(described(group('out', 'node.n1', 'ip4'), true), ['allowed', 'what always passes', true]);
    const shared = withAclText('ip4', aclText('shop/other', 'ingress', [0, 2], 'allow'));
    assert.deepEqual(described(group('out', 'np.00.in', shared), true), ['allowed', 'NetworkPolicy shop/other', true]);
    assert.match(String(described(group('out', 'np.00.in'), true)[1]), /^a policy of port group np\.00\.in$/);
  });

  test('that has no pipelines of the packet is not understood', () => {
    assert.equal(answer([sent(), received(output)]).isUnderstood, true);
    for (const text of ['', 'ovn-trace: warning', received(output)]) assert.equal(answer([text]).isUnderstood, false);
  });

  test('that policies contradict is a disagreement at that end', () => {
    const open = [sent(), received(output)];
    const shut = [
      sent(flow('ls_in_acl_after_lb', group('in', isolationGroup('egress'), `ip4 /* ${isolationText('egress')} */`))),
    ];
    const agree = (parts: readonly string[], ingress: boolean, egress: boolean) =>
      answer(parts, { ingress, egress }).ends.map(({ direction, agrees }) => `${direction} ${agrees}`);
    assert.deepEqual(agree(open, true, true), ['egress true', 'ingress true']);
    assert.deepEqual(agree(open, false, true), ['egress true', 'ingress false']);
    assert.deepEqual(agree(open, true, false), ['egress false', 'ingress true']);
    assert.deepEqual(agree(shut, false, true), ['egress false']);
    assert.deepEqual(agree(shut, false, false), ['egress true']);
  });

  test('by an ACL that is no policy contradicts nothing, unless OVN has tiers and lets the packet pass', () => {
    const foreign = 'outport == @ovn.sg.x && ip';
    const end = (stage: string, last: string, ingress: boolean) =>
      answer([sent(), received(flow(stage, foreign), last)], { egress: true, ingress }).ends[1];
    assert.deepEqual(
      [end('ls_out_acl', '', true)?.agrees, end('ls_out_acl', '', true)?.decider],
      [undefined, 'others'],
    );
    assert.equal(end('ls_out_acl', output, false)?.agrees, undefined);
    assert.equal(end('ls_out_acl_eval', output, false)?.agrees, false);
    const spoofed = answer([sent(flow('ls_in_apply_port_sec', 'reg0[15] == 1'))]);
    assert.deepEqual(
      [spoofed.verdict, spoofed.agrees, spoofed.ends.map(({ stage, agrees }) => [stage, agrees])],
      ['denied', true, [['ls_in_apply_port_sec', undefined]]],
    );
  });
});

test('an answer says whether OVN agrees, and what the controller says about the policies', () => {
  const text = [sent(), received(output)].join('\n\n');
  const asked = {
    ...reading(),
    reported: new Map([
      ['shop/web', 'NotSupported: x'],
      ['shop/other', 'NotSupported: y'],
    ]),
  };
  const untraced = explainPolicies(asked);
  assert.deepEqual([untraced.ovn.state, untraced.ovn.detail], ['not asked', '']);
  assert.deepEqual(
    untraced.problems.map(({ message }) => message),
    ['shop/web: the controller says: NotSupported: x'],
  );
  const trace = { where: 'here', ports, families: [{ family: 4, packet: '', text }] } as const;
  const traced = explainPolicies({ ...asked, ovn: { trace } });
  assert.deepEqual([traced.ovn, traced.problems[0]?.code], [{ state: 'disagrees', detail: 'here' }, 'OvnDisagrees']);
});
