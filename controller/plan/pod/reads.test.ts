import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Random, randomOf } from '../../../lib/testing-random.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { planned } from '../../testing-reports.ts';
import { parseVip } from '../../watch/addresses.ts';
import { parseSecurityGroup, parseSubnet, parseVpc } from '../../watch/networks.ts';
import { parseAttachment, parseNamespace, parseNode, parsePod, parseVirtualMachine } from '../../watch/workloads.ts';

const ovn = (key: string): string => `ovn.kubernetes.io/${key}`;

function meta(name: string, more: Readonly<Record<string, unknown>> = {}): never {
  return { name, uid: `uid-${name}`, resourceVersion: '1', generation: 1, ...more } as never;
}

function maybe<T>(random: Random, value: T): readonly T[] {
  return random(3) === 0 ? [value] : [];
}

function changePod(cluster: TestCluster, random: Random): void {
  const index = random(5);
  const groups = ['a-b', 'a.b', 'c', 'c,a-b', ',', 'absent'];
  const annotations = Object.fromEntries([
    ...maybe(random, [ovn('security_groups'), groups[random(groups.length)]]),
    ...maybe(random, [ovn('aaps'), random(2) === 0 ? 'v0' : 'v1,v2']),
    ...maybe(random, [ovn('port_vips'), '10.16.0.9']),
    ...maybe(random, [ovn('egress_rate'), random(2) === 0 ? '5' : 'x']),
    ...maybe(random, [ovn('dhcp-v4-options'), 'lease_time=60']),
    ...maybe(random, ['k8s.v1.cni.cncf.io/networks', 'net']),
    ...maybe(random, ['net.ns.ovn.kubernetes.io/security_groups', 'c']),
  ]);
  const isMachine = index === 4;
  const owner = { kind: 'VirtualMachineInstance', name: 'vm', uid: 'vm', controller: true };
  const more = { namespace: 'ns', annotations, labels: { app: String(random(2)) } };
  const name = isMachine ? `launcher-${random(2)}` : `p${index}`;
  const metadata = meta(name, { ...more, ...(isMachine ? { ownerReferences: [owner] } : {}) });
  const spec = { nodeName: `n${random(2)}` };
  const phase = random(8) === 0 ? 'Failed' : 'Running';
  cluster.change('pods', `ns/${name}`, random(4) === 0 ? undefined : parsePod({ metadata, spec, status: { phase } }));
}

function changeGroup(cluster: TestCluster, random: Random): void {
  const names = ['a-b', 'a.b', 'c'];
  const name = names[random(3)] ?? 'c';
  const rule = { ipVersion: 'ipv4', priority: 1 + random(3), remoteType: 'securityGroup', policy: 'allow' };
  const ingressRules = [{ ...rule, remoteSecurityGroup: names[random(3)] }];
  const metadata = meta(name, { creationTimestamp: `2026-01-0${1 + random(3)}T00:00:00Z` });
  const value = parseSecurityGroup({ metadata, spec: { ingressRules } });
  cluster.change('securityGroups', name, random(4) === 0 ? undefined : value);
}

function changeVip(cluster: TestCluster, random: Random): void {
  const index = random(3);
  const spec = {
    subnet: 'ovn-default',
    namespace: random(3) === 0 ? 'other' : 'ns',
    type: random(4) === 0 ? 'switch_lb_vip' : '',
    selector: random(2) === 0 ? [] : ['app:1'],
  };
  const value = parseVip({ metadata: meta(`v${index}`), spec });
  cluster.change('vips', `v${index}`, random(4) === 0 ? undefined : value);
}

function changeRest(cluster: TestCluster, random: Random): void {
  const act = random(4);
  const name = `n${random(2)}`;
  const annotations = random(3) === 0 ? {} : { [ovn('chassis')]: `id-${name}-${random(2)}` };
  if (act === 0)
    cluster.change('nodes', name, random(4) === 0 ? undefined : parseNode({ metadata: meta(name, { annotations }) }));
  else if (act === 1) {
    const gatewayType = random(2) === 0 ? 'centralized' : 'distributed';
    const spec = { cidrBlock: '10.16.0.0/24,fd00::/120', enableDHCP: random(2) === 0, gatewayType };
    cluster.change('subnets', 'ovn-default', parseSubnet({ metadata: meta('ovn-default'), spec }));
  } else if (act === 2) {
    const config = JSON.stringify({ type: 'kube-ovn', provider: 'net.ns.ovn' });
    const value = parseAttachment({ metadata: meta('net', { namespace: 'ns' }), spec: { config } });
    cluster.change('attachments', 'ns/net', random(3) === 0 ? undefined : value);
  } else {
    const value = parseVirtualMachine({ metadata: meta('vm', { namespace: 'ns' }) });
    cluster.change('virtualMachineInstances', 'ns/vm', random(3) === 0 ? undefined : value);
  }
}

test('after random changes of the inputs of ports, every affected pod, group and Vip is planned again', () => {
  const random = randomOf(7);
  const cluster = new TestCluster();
  const subnet = (name: string, spec: object) => parseSubnet({ metadata: meta(name), spec });
  cluster.change('vpcs', 'ovn-cluster', parseVpc({ metadata: meta('ovn-cluster') }));
  cluster.change('subnets', 'join', subnet('join', { cidrBlock: '100.64.0.0/16' }));
  cluster.change('subnets', 'ovn-default', subnet('ovn-default', { cidrBlock: '10.16.0.0/24,fd00::/120' }));
  cluster.change('subnets', 'net', subnet('net', { cidrBlock: '10.17.0.0/24', provider: 'net.ns.ovn' }));
  cluster.change('namespaces', 'ns', parseNamespace({ metadata: meta('ns') }));
  cluster.restore(new Map());
  const last = new Map<string, string>();
  for (let round = 0; round < 1200; round += 1) {
    const act = random(10);
    if (act < 5) changePod(cluster, random);
    else if (act < 7) changeGroup(cluster, random);
    else if (act < 9) changeVip(cluster, random);
    else changeRest(cluster, random);
    if (random(3) === 0) continue;
    for (const key of cluster.settle()) last.set(key, planned(cluster, key));
    for (const [key, text] of last) assert.equal(planned(cluster, key), text, `${key} in round ${round}`);
  }
});
