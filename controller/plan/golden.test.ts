import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { parseAllDocuments, stringify } from 'yaml';
import type { RawObject } from '../../lib/kube/types.ts';
import { Cluster } from '../state/cluster.ts';
import { parseIp, parseIpPool, parseVip } from '../watch/addresses.ts';
import { parseSecurityGroup, parseSubnet, parseVpc } from '../watch/networks.ts';
import { parseAttachment, parseNamespace, parseNode, parsePod, parseStatefulSet } from '../watch/workloads.ts';
import { planSubnetConditions } from './conditions.ts';
import { planIps } from './address/ip-object.ts';
import { planIpPoolConditions, planIpPoolUsage } from './address/ip-pool.ts';
import { planVipConditions, planVipStatus } from './address/vip-status.ts';
import { planNamespaceAnnotations } from './namespace/namespace.ts';
import { planNodeAnnotations } from './node/node.ts';
import { planKey } from './plan.ts';
import { planPodAnnotations } from './pod/pod.ts';
import { planSubnetUsage } from './subnet/subnet-status.ts';
import { planVpcStatus } from './vpc/vpc.ts';

const folder = join(import.meta.dirname, 'testdata');

function load(cluster: Cluster, raw: RawObject): void {
  const { name, namespace = '' } = raw.metadata;
  if (raw.kind === 'Vpc') cluster.change('vpcs', name, parseVpc(raw));
  else if (raw.kind === 'Subnet') cluster.change('subnets', name, parseSubnet(raw));
  else if (raw.kind === 'Node') cluster.change('nodes', name, parseNode(raw));
  else if (raw.kind === 'Namespace') cluster.change('namespaces', name, parseNamespace(raw));
  else if (raw.kind === 'Pod') cluster.change('pods', `${namespace}/${name}`, parsePod(raw));
  else if (raw.kind === 'IP') cluster.change('ips', name, parseIp(raw));
  else if (raw.kind === 'IPPool') cluster.change('ipPools', name, parseIpPool(raw));
  else if (raw.kind === 'Vip') cluster.change('vips', name, parseVip(raw));
  else if (raw.kind === 'SecurityGroup') cluster.change('securityGroups', name, parseSecurityGroup(raw));
  else if (raw.kind === 'StatefulSet') cluster.change('statefulSets', `${namespace}/${name}`, parseStatefulSet(raw));
  else if (raw.kind === 'NetworkAttachmentDefinition')
    cluster.change('attachments', `${namespace}/${name}`, parseAttachment(raw));
  else throw new Error(`a case has no use for ${raw.kind}`);
}

/** What Kubernetes is told about one key. */
function toldOf(cluster: Cluster, key: string): unknown {
  const [feature = '', name = '', rest = ''] = key.split('/', 3);
  if (feature === 'pod') {
    const problem = cluster.addressProblem(key);
    const annotations = planPodAnnotations(cluster, `${name}/${rest}`);
    return problem === undefined ? { annotations, ips: planIps(cluster, key) } : { problem };
  }
  if (feature === 'node') return { annotations: planNodeAnnotations(cluster, name), ips: planIps(cluster, key) };
  const namespace = cluster.namespaces.get(name);
  if (feature === 'namespace' && namespace !== undefined) return planNamespaceAnnotations(cluster, namespace);
  if (feature === 'vpc') return planVpcStatus(cluster, name);
  if (feature === 'ip-pool')
    return { ...planIpPoolUsage(cluster, name), conditions: planIpPoolConditions(cluster, name, undefined) };
  if (feature === 'vip')
    return { ...planVipStatus(cluster, name), conditions: planVipConditions(cluster, name, undefined) };
  if (feature !== 'subnet') return undefined;
  const { spec, isOpen } = cluster.verdicts.get(name) ?? {};
  return {
    spec,
    isOpen,
    conditions: planSubnetConditions(cluster, name, undefined),
    ...planSubnetUsage(cluster, name),
  };
}

function planAll(objects: readonly RawObject[]): string {
  const cluster = new Cluster();
  for (const object of objects) load(cluster, object);
  cluster.restore(new Map());
  const keys = [...cluster.settle()].sort();
  const rows = keys
    .map((key) => [key, planKey(cluster, key)] as const)
    .filter(([, desired]) => desired.rows.length > 0 || (desired.contributions?.length ?? 0) > 0);
  const told = keys.map((key) => [key, toldOf(cluster, key)] as const).filter(([, value]) => value !== undefined);
  return stringify(
    { rows: Object.fromEntries(rows), told: Object.fromEntries(told) },
    { aliasDuplicateObjects: false, lineWidth: 0 },
  );
}

describe('plans', () => {
  for (const path of globSync(join(folder, '*.in.yaml'))) {
    const name = basename(path, '.in.yaml');
    test(name, (context) => {
      const objects = parseAllDocuments(readFileSync(path, 'utf8')).map((document) => document.toJS() as RawObject);
      const planned = planAll(objects);
      context.assert.fileSnapshot(planned, join(folder, `${name}.out.yaml`), { serializers: [String] });
      for (let turn = 1; turn < objects.length; turn += 1) {
        assert.equal(
          planAll([...objects.slice(turn), ...objects.slice(0, turn)]),
          planned,
          'the order of events tells',
        );
      }
      assert.equal(planAll(objects.toReversed()), planned, 'the order of events tells');
    });
  }
});
