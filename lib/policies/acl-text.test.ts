import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aclText, isolationText, readAclText, withAclText } from './acl-text.ts';

/** As northd writes the match of an ACL into a logical flow. */
const flowOf = (match: string): string => `reg0[7] == 1 && (${match})`;
const written = (text: string | undefined): ReturnType<typeof readAclText> =>
  readAclText(flowOf(withAclText('outport == @g && ip4', text)));

describe('the text of an ACL', () => {
  it('names the rules of a NetworkPolicy', () => {
    const text = aclText('shop/web.v1', 'ingress', [0, 2], 'allow');
    assert.equal(text, 'NetworkPolicy shop/web.v1 ingress[0,2] allow');
    const expected = { kind: 'NetworkPolicy', namespace: 'shop', name: 'web.v1', direction: 'ingress', rules: [0, 2] };
    assert.deepEqual(written(text), { ...expected, verdict: 'allow' });
  });

  it('names the rule of a policy of the whole cluster', () => {
    const text = aclText('ClusterNetworkPolicy/gate', 'egress', [24], 'pass');
    assert.equal(text, 'ClusterNetworkPolicy gate egress[24] pass');
    const expected = { kind: 'ClusterNetworkPolicy', namespace: '', name: 'gate', direction: 'egress', rules: [24] };
    assert.deepEqual(written(text), { ...expected, verdict: 'pass' });
  });

  it('names the drop of isolated pods', () => {
    assert.deepEqual(written(isolationText('egress')), { direction: 'egress', rules: undefined });
  });

  it('names the first rules where there are many', () => {
    const rules = Array.from({ length: 1000 }, (_, rule) => rule);
    assert.deepEqual(written(aclText('a/b', 'ingress', rules, 'allow'))?.rules, rules.slice(0, 32));
  });

  it('leaves out a name that would end the comment', () => {
    for (const name of ['a/b */ || ip', 'a/*/', 'a/b c', 'a/b\n', 'NetworkPolicy/A', 'a/'])
      assert.equal(aclText(name, 'ingress', [0], 'allow'), undefined, name);
    assert.equal(withAclText('ip4', undefined), 'ip4');
  });

  it('is read at the end of the match only', () => {
    const text = aclText('shop/web', 'ingress', [0], 'allow');
    assert.equal(readAclText(flowOf(`${withAclText('ip4', text)} && tcp`)), undefined);
    assert.equal(readAclText(flowOf('ip4')), undefined);
  });
});
