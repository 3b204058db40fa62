/** `isthmus why` names the holder of an address by which the controller and the nodes act, whichever Services, SwitchLBRules and VpcDnses want it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdersOf } from '../../cli/plan/service/holders.ts';
import { vpcOf } from '../../cli/plan/service/vpc.ts';
import { readRivals } from '../../cli/watch/rivals.ts';
import { parsePod, parseRule } from '../../cli/watch/service-objects.ts';
import { reportKey } from '../../controller/plan/plan.ts';
import type { TestCluster } from '../../controller/testing-cluster.ts';
import { allApplied } from '../../controller/testing-reports.ts';
import { addressOf, pod, startedWithTwoVpcs } from '../../controller/testing-services.ts';
import { parseSwitchLbRule } from '../../controller/watch/addresses.ts';
import { parseVpcDns } from '../../controller/watch/vpc-dns.ts';
import { protocolNumber } from '../../daemon/model/service.ts';
import { rightsOf } from '../../daemon/plan/services/frontends.ts';
import { FrontendRights } from '../../daemon/settle/frontend-rights.ts';
import { endpointSlices, keyOf, pods, services, switchLbRules, vpcDnses } from '../../lib/kube/resources.ts';
import type { RawObject, Resource } from '../../lib/kube/types.ts';
import { parseEndpointSlice, parseService } from '../../lib/services/parse.ts';
import { serviceKey } from '../../lib/services/service.ts';
import { isProblem, readRule } from '../../lib/services/switch-lb-rule.ts';
import { vipId, vipsOf } from '../../lib/services/vips.ts';
import { endpointsElsewhere } from '../../lib/services/elsewhere.ts';
import { pick, randomOf } from '../../lib/testing-random.ts';

const rounds = 300;
const vpcs = { default: 'ovn-cluster', blue: 'blue' } as const;
const namespaces = ['default', 'blue'] as const;
const wanted = ['198.51.100.1', '198.51.100.2', '10.96.0.10', '10.96.0.11'];
const settings = { balancesInOvn: true, nodesServe: true, allowsExternalIps: true };
const allowed = { externalIps: true };
const { signal } = new AbortController();

type Random = ReturnType<typeof randomOf>;

function object(
  key: string,
  day: number,
  fields: object,
  annotations: Readonly<Record<string, string>> = {},
): RawObject {
  const [namespace = '', name = ''] = key.split('/');
  const creationTimestamp = `2026-01-0${day}T00:00:00Z`;
  return { metadata: { namespace, name, uid: key, resourceVersion: '1', creationTimestamp, annotations }, ...fields };
}

/** A few ports, protocols and addresses, so that most are wanted several times. */
function randomService(random: Random, key: string): RawObject {
  const ports = [{ name: 'p', port: pick(random, [53, 80]), protocol: pick(random, ['TCP', 'UDP']) }];
  const isBalanced = random(3) === 0;
  const ranges = random(2) === 0 ? {} : { loadBalancerSourceRanges: ['203.0.113.0/24'] };
  const spec = {
    clusterIPs: [random(3) === 0 ? pick(random, wanted) : `10.96.1.${random(250)}`],
    ports,
    externalIPs: random(2) === 0 ? [] : [pick(random, wanted)],
    ...(isBalanced ? { type: 'LoadBalancer', ...ranges } : {}),
  };
  const status = isBalanced ? { loadBalancer: { ingress: [{ ip: pick(random, wanted) }] } } : {};
  const isNamed = random(3) === 0;
  const annotations = isNamed ? { 'ovn.kubernetes.io/vpc': pick(random, ['blue', 'ovn-cluster']) } : {};
  return object(key, 3 + random(3), { spec, status }, annotations);
}

function randomRule(random: Random, name: string): RawObject {
  const [vip, namespace] = [pick(random, ['1.1.1.1', ...wanted]), pick(random, namespaces)];
  const spec = { vip, namespace, selector: ['app:web'], ports: [{ port: 80, targetPort: 8080 }] };
  return object(`/${name}`, 2 + random(4), { spec });
}

/** With what the controller writes. */
function written(cluster: TestCluster, raw: RawObject, key: string): RawObject {
  const [report] = reportKey(cluster, key, allApplied);
  const { conditions = [], fields = {} } = report?.status ?? {};
  const annotations = { ...raw.metadata.annotations, ...report?.annotations } as Readonly<Record<string, string>>;
  const status = { ...(raw['status'] as object | undefined), ...fields, conditions };
  return { ...raw, metadata: { ...raw.metadata, annotations }, status };
}

function randomCluster(random: Random) {
  const rawServices = ['a', 'b', 'c'].flatMap((name) =>
    namespaces.map((namespace) => randomService(random, `${namespace}/${name}`)),
  );
  const ports = [{ port: 53, protocol: 'UDP' }];
  rawServices.push(object('kube-system/kube-dns', 1, { spec: { clusterIPs: ['10.96.0.10'], ports } }));
  const rawRules = ['r', 's'].map((name) => randomRule(random, name));
  const rawDnses = random(2) === 0 ? [] : ['d', 'e'].map((name) => object(`/${name}`, 6, { spec: { vpc: 'blue' } }));
  const names = namespaces.flatMap((namespace) => [`${namespace}/p0`, `${namespace}/p1`]);
  const cluster = startedWithTwoVpcs((empty) => {
    for (const name of names) pod(empty, name, 'n1');
    for (const raw of rawServices) empty.change('services', keyOf(raw.metadata), parseService(raw));
    for (const raw of rawRules) empty.change('switchLbRules', raw.metadata.name, parseSwitchLbRule(raw));
    for (const raw of rawDnses) empty.change('vpcDnses', raw.metadata.name, parseVpcDns(raw));
  });
  const rawSlices = rawServices.flatMap(({ metadata: { namespace = '', name } }) => {
    if (random(3) === 0 || namespace === 'kube-system') return [];
    const by = `p${random(2)}`;
    const endpoints = [{ addresses: [addressOf(cluster, `${namespace}/${by}`)], targetRef: { kind: 'Pod', name: by } }];
    const slice = object(`${namespace}/${name}-x`, 6, {
      addressType: 'IPv4',
      ports: [{ name: 'p', port: 80 }],
      endpoints,
    });
    return [{ ...slice, metadata: { ...slice.metadata, labels: { 'kubernetes.io/service-name': name } } }];
  });
  for (const raw of rawSlices) cluster.change('endpointSlices', keyOf(raw.metadata), parseEndpointSlice(raw));
  cluster.settle();
  const ofPods = names.map((name) => {
    const vpc = vpcs[name.startsWith('blue/') ? 'blue' : 'default'];
    return object(name, 2, {}, { 'ovn.kubernetes.io/logical_router': vpc });
  });
  const lists = new Map<Resource, readonly RawObject[]>([
    [services, rawServices.map((raw) => written(cluster, raw, `service/${keyOf(raw.metadata)}`))],
    [switchLbRules, rawRules.map((raw) => written(cluster, raw, `switch-lb-rule/${raw.metadata.name}`))],
    [vpcDnses, rawDnses.map((raw) => written(cluster, raw, `vpc-dns/${raw.metadata.name}`))],
    [endpointSlices, rawSlices],
    [pods, ofPods],
  ]);
  const list = (resource: Resource, { namespace }: { namespace?: string } = {}) =>
    Promise.resolve(
      (lists.get(resource) ?? []).filter(({ metadata }) => [undefined, metadata.namespace].includes(namespace)),
    );
  return { cluster, lists, api: { client: { list }, signal } };
}

test('the CLI names the holder of an address by which the controller and nodes act', async (context) => {
  const random = randomOf(7);
  const seen = { ovn: 0, nodes: 0, rules: 0 };
  for (let round = 0; round < rounds; round += 1) {
    const { cluster, lists, api } = randomCluster(random);
    const takenFrom = (key: string) => cluster.serviceVerdicts.get(key)?.takenVips ?? {};
    const all = (lists.get(services) ?? []).map(parseService);
    const ofPods = new Map((lists.get(pods) ?? []).map((raw) => [keyOf(raw.metadata), parsePod(raw)]));
    const slices = (lists.get(endpointSlices) ?? []).map(parseEndpointSlice);
    const rights = new FrontendRights();
    for (const one of all) rights.set(serviceKey(one), one.createdMs, rightsOf(one, true));
    for (const service of all) {
      const key = serviceKey(service);
      const { vpc } = vpcOf({ service, slices: slices.filter((slice) => slice.service === key), pods: ofPods });
      assert.equal(vpc, cluster.serviceVerdicts.get(key)?.vpc, `round ${round}: ${key}`);
      const reading = { rivals: await readRivals(api, service, settings), settings };
      const inOvn = holdersOf(reading, { service }, { vpc, at: 'ovn' });
      const onNodes = holdersOf(reading, { service }, { vpc, at: 'node' });
      for (const vip of vipsOf(service, allowed)) {
        const { address, port } = vip;
        const text = `round ${round}: ${key} ${vipId(vip)}`;
        const holder = inOvn(address, port);
        assert.equal(holder, takenFrom(key)[vipId(vip)], text);
        if (holder !== undefined) seen.ovn += 1;
        if (endpointsElsewhere(service) === 'all') continue;
        const there = rights.holderOf(`${address} . ${protocolNumber[port.protocol]} . ${port.port}`);
        assert.equal(onNodes(address, port) ?? `Service ${key}`, `Service ${there}`, text);
        if (there !== key) seen.nodes += 1;
      }
    }
    for (const rule of (lists.get(switchLbRules) ?? []).map(parseRule)) {
      const read = readRule(rule.object);
      if (isProblem(read)) throw new Error(read.code);
      const { service } = read;
      const reading = { rivals: await readRivals(api, service, settings), settings };
      const holderOf = holdersOf(reading, { service, rule }, { vpc: rule.vpc, at: 'ovn' });
      const taken = takenFrom(serviceKey(service));
      for (const vip of vipsOf(service, allowed).filter((one) => taken[vipId(one)] !== undefined)) {
        assert.equal(holderOf(vip.address, vip.port), taken[vipId(vip)], `round ${round}: rule ${rule.object.name}`);
        seen.rules += 1;
      }
    }
  }
  context.diagnostic(JSON.stringify(seen));
  for (const count of Object.values(seen)) assert.ok(count > 50, JSON.stringify(seen));
});
