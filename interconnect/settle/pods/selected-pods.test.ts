import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { matchesSelector } from '../../../lib/api/label-selector.ts';
import { parseCidr } from '../../../lib/net/cidr.ts';
import { setOf } from '../../../lib/policies/remote-peers.ts';
import { policyLabels } from '../../../lib/policies/selection.ts';
import { selectorOfText, selectorText } from '../../../lib/store/selector-index.ts';
import { pick, randomOf } from '../../../lib/testing-random.ts';
import { mostAddresses, type AskedSet, type SharedPod } from '../../model/pod-sets.ts';
import { SelectedPods } from './selected-pods.ts';

const asked = (matchLabels: Readonly<Record<string, string>>): AskedSet => {
  const selector = selectorText({ matchLabels });
  return { id: setOf(selector), selector };
};
const web = asked({ 'pod:app': 'web' });
const shop = asked({ name: 'shop' });
const pod = (app: string, addresses: readonly string[], namespace = 'shop'): SharedPod => {
  return { namespace, labels: { app }, addresses: addresses.map((address) => ({ address, subnet: 'pods' })) };
};
const offers = (vpc: string, ...cidrs: readonly string[]) => cidrs.map((cidr) => ({ vpc, cidr }));
const subnet = (name: string, vpc: string, cidr: string) =>
  [name, { vpc, cidrs: [parseCidr(cidr)].filter((one) => one !== undefined) }] as const;

describe('the pods of this cluster that others ask for', () => {
  let selected: SelectedPods;
  const shown = () =>
    Object.fromEntries(
      [...selected.sets()].map(([id, { addresses, refusal }]) => [id, refusal || [...addresses].sort().join()]),
    );
  beforeEach(() => {
    selected = new SelectedPods();
    selected.setSharing({ isShared: true, namespaces: {} });
    selected.setOffers(offers('blue', '10.16.0.0/16'), []);
    selected.setNamespace('shop', { team: 'a' });
    selected.setPod('shop/one', pod('web', ['10.16.0.1', '10.99.0.1']));
    selected.setPod('shop/two', pod('db', ['10.16.0.2']));
    selected.setAsked([web, shop]);
  });

  it('are those whose labels match, with the addresses that this cluster offers', () => {
    assert.deepEqual(shown(), { [web.id]: '10.16.0.1', [shop.id]: '10.16.0.1,10.16.0.2' });
    selected.setPod('shop/two', pod('web', ['10.16.0.2']));
    assert.deepEqual(shown(), { [web.id]: '10.16.0.1,10.16.0.2', [shop.id]: '10.16.0.1,10.16.0.2' });
    selected.setOffers(offers('blue', '10.16.0.0/16', '10.99.0.0/16'), []);
    assert.equal(shown()[web.id], '10.16.0.1,10.16.0.2,10.99.0.1');
    selected.setPod('shop/one', undefined);
    assert.deepEqual(shown(), { [web.id]: '10.16.0.2', [shop.id]: '10.16.0.2' });
    selected.setAsked([shop]);
    assert.deepEqual(shown(), { [shop.id]: '10.16.0.2' });
  });

  it('have no address that is also one of another VPC which takes part', () => {
    const blue = subnet('blue', 'blue', '10.16.0.0/16');
    const offered = offers('blue', '10.16.0.0/16', '10.99.0.0/16');
    selected.setOffers(offered, [blue, subnet('pods', 'blue', '10.16.0.0/17')]);
    assert.equal(shown()[web.id], '10.16.0.1,10.99.0.1');
    // Of a VPC that takes no part, whose networks blue passes on in part.
    selected.setOffers(offered, [blue, subnet('pods', 'red', '10.16.0.0/16')]);
    assert.equal(shown()[web.id], '10.99.0.1');
    const both = [...offered, ...offers('red', '10.16.0.0/16')];
    selected.setOffers(both, [blue, subnet('pods', 'red', '10.16.0.0/16')]);
    assert.equal(shown()[web.id], '10.99.0.1');
    selected.setOffers(both, [subnet('pods', 'red', '10.16.0.0/16')]);
    assert.equal(shown()[web.id], '10.16.0.1,10.99.0.1');
  });

  it('are none of a namespace that is not known or not shared', () => {
    selected.setNamespace('shop', undefined);
    assert.deepEqual(shown(), { [web.id]: '', [shop.id]: '' });
    selected.setNamespace('shop', { team: 'a' });
    selected.setSharing({ isShared: true, namespaces: { matchLabels: { team: 'b' } } });
    assert.deepEqual(shown(), { [web.id]: '', [shop.id]: '' });
    selected.setNamespace('shop', { team: 'b' });
    assert.equal(shown()[web.id], '10.16.0.1');
    selected.setSharing({ isShared: false, namespaces: {} });
    assert.deepEqual(shown(), { [web.id]: 'NotShared', [shop.id]: 'NotShared' });
  });

  it('stay the same value while nothing of a set changes', () => {
    const before = new Map(selected.sets());
    selected.setPod('shop/two', pod('dbs', ['10.16.0.2']));
    selected.setPod('shop/two', pod('db', ['10.16.0.2']));
    assert.equal(selected.sets().get(shop.id), before.get(shop.id));
    selected.setPod('shop/three', pod('db', ['10.16.0.3']));
    assert.equal(selected.sets().get(web.id), before.get(web.id));
    assert.notEqual(selected.sets().get(shop.id), before.get(shop.id));
  });

  it('are asked for by nothing but a selector of its own name, and by no more than a set may have', () => {
    selected.setAsked([{ id: web.id, selector: shop.selector }, { id: 'x', selector: '[' }, shop]);
    assert.deepEqual(shown(), { [shop.id]: '10.16.0.1,10.16.0.2' });
    for (let at = 0; at <= mostAddresses; at += 1)
      selected.setPod(`shop/p${at}`, pod('many', [`10.16.${1 + (at >> 8)}.${at & 255}`]));
    assert.deepEqual(shown(), { [shop.id]: 'TooManyAddresses' });
    for (let at = 0; at < 3; at += 1) selected.setPod(`shop/p${at}`, undefined);
    assert.equal(selected.sets().get(shop.id)?.addresses.size, mostAddresses);
  });

  it('are what a search of all pods finds, after random changes', () => {
    const random = randomOf(3);
    const pods = new Map<string, SharedPod>();
    const namespaces = new Map<string, Record<string, string>>();
    const all = [
      web,
      shop,
      asked({ 'namespace:team': 'a' }),
      asked({ 'pod:app': 'db', 'namespace:team': 'b' }),
      asked({}),
    ];
    let wanted: readonly AskedSet[] = [];
    selected = new SelectedPods();
    selected.setSharing({ isShared: true, namespaces: {} });
    selected.setOffers(offers('blue', '10.16.0.0/16'), []);
    for (let step = 0; step < 1500; step += 1) {
      const namespace = pick(random, ['shop', 'team', 'ops']);
      const key = `${namespace}/${random(4)}`;
      const what = random(8);
      if (what === 0) {
        const labels = { team: pick(random, ['a', 'b']) };
        if (random(4) === 0) namespaces.delete(namespace);
        else namespaces.set(namespace, labels);
        selected.setNamespace(namespace, namespaces.get(namespace));
      } else if (what === 1) {
        wanted = all.filter(() => random(2) === 0);
        selected.setAsked(wanted);
      } else {
        if (random(4) === 0) pods.delete(key);
        else pods.set(key, pod(pick(random, ['web', 'db']), [`10.${16 + random(2)}.0.${random(6)}`], namespace));
        selected.setPod(key, pods.get(key));
      }
      const expected = wanted.map(({ id, selector }) => {
        const found = [...pods.values()].filter((one) => {
          const labels = namespaces.get(one.namespace);
          return labels !== undefined && matchesSelector(selectorOfText(selector), policyLabels(one, labels));
        });
        const own = found.flatMap(({ addresses }) => addresses.filter(({ address }) => address.startsWith('10.16.')));
        return [id, [...new Set(own.map(({ address }) => address))].sort().join()];
      });
      assert.deepEqual(shown(), Object.fromEntries(expected), `step ${step}`);
    }
  });
});
