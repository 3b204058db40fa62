/** The chart without a cluster: Helm's objects, errors and notes; the generated files; the RBAC rights. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { stringify } from 'yaml';
import { staleFiles } from '../../lib/api/generate.ts';
import { allKinds } from '../../lib/api/kinds/all.ts';
import { frugalProcess } from '../lab/rooms.ts';
import { chart, everything, helm, type Manifest, parseManifests, renderChart } from './render.ts';

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

interface PolicySpec {
  readonly failurePolicy: string;
  readonly matchConditions: readonly { readonly expression: string }[];
  readonly matchConstraints: {
    readonly resourceRules: readonly {
      readonly apiGroups: readonly string[];
      readonly resources: readonly string[];
      readonly operations: readonly string[];
    }[];
  };
}

interface BindingSpec {
  readonly policyName: string;
  readonly validationActions: readonly string[];
}

interface Container {
  readonly name: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly securityContext?: Readonly<Record<string, unknown>>;
  readonly volumeMounts?: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly subPath?: string;
    readonly readOnly?: boolean;
  }[];
  readonly livenessProbe?: Probe;
  readonly startupProbe?: Probe;
}

interface Probe {
  readonly httpGet?: object;
}

interface PodSpec {
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes: readonly {
    readonly name: string;
    readonly hostPath?: { readonly path: string; readonly type?: string };
  }[];
  readonly securityContext?: Readonly<Record<string, unknown>>;
}

const defaults = parseManifests(renderChart([]));
const whole = parseManifests(renderChart(everything));
const ownDatabases = parseManifests(
  renderChart([
    'ovn.central.deploy=false',
    'ovn.remotes.nb=ssl:192.0.2.1:6641',
    'ovn.remotes.sb=ssl:192.0.2.1:6642',
    'ovn.tls.secretName=ovn-tls',
  ]),
);
const withoutStorageClass = parseManifests(renderChart([...everything, 'hub.storage.hostPath=/var/lib/isthmus/hub']));

function ofKind(manifests: readonly Manifest[], ...kinds: readonly string[]): readonly Manifest[] {
  return manifests.filter(({ kind }) => kinds.includes(kind));
}

/** ServiceExport and ServiceImport. */
const mcsKinds = 2;

function* workloads(manifests: readonly Manifest[]): Generator<readonly [name: string, PodSpec]> {
  for (const { kind, metadata, spec } of ofKind(manifests, 'Deployment', 'DaemonSet', 'StatefulSet'))
    yield [`${kind} ${metadata.name}`, (spec as { template: { spec: PodSpec } }).template.spec];
}

function containersOf(pod: PodSpec): readonly Container[] {
  return [...(pod.initContainers ?? []), ...pod.containers];
}

test('generated files are up to date with their sources', async () => {
  assert.deepEqual([...(await staleFiles()).keys()], [], 'run `npm run generate`');
  const expected = allKinds.map(({ group, plural }) => `${group}_${plural}.yaml`).sort();
  assert.deepEqual(readdirSync(join(chart, 'crds')).sort(), expected);
});

describe('rendered objects', () => {
  test('the CRDs are printed byte for byte, unless switched off', () => {
    const text = renderChart([]);
    for (const folder of ['crds', 'mcs-crds'])
      for (const file of readdirSync(join(chart, folder)))
        assert.ok(text.includes(readFileSync(join(chart, folder, file), 'utf8').trimEnd()), file);
    assert.equal(ofKind(defaults, 'CustomResourceDefinition').length, allKinds.length + mcsKinds);
    assert.equal(ofKind(parseManifests(renderChart(['crds.install=false'])), 'CustomResourceDefinition').length, 0);
  });

  // Rights and CRDs are judged by rules of their own; the rest is read by eye when it changes.
  const judged = [
    'CustomResourceDefinition',
    'ClusterRole',
    'ClusterRoleBinding',
    'Role',
    'RoleBinding',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
  ];
  for (const [name, manifests] of Object.entries({ defaults, whole, ownDatabases }))
    test(`${name} are as in testdata`, (t) => {
      const text = manifests
        .filter(({ kind }) => !judged.includes(kind))
        .map((manifest) => stringify(manifest, { lineWidth: 0 }))
        .join('---\n');
      t.assert.fileSnapshot(text, join(import.meta.dirname, `testdata/${name}.out.yaml`), {
        serializers: [(value) => String(value)],
      });
    });

  test('no object is rendered twice', () => {
    const names = whole.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`);
    assert.deepEqual(
      names.filter((name, index) => names.indexOf(name) !== index),
      [],
    );
  });

  test('every mount has its volume', () => {
    for (const [name, pod] of [...workloads(whole), ...workloads(defaults)]) {
      const volumes = new Set([...pod.volumes.map((volume) => volume.name), 'state']);
      for (const container of containersOf(pod))
        for (const mount of container.volumeMounts ?? [])
          assert.ok(volumes.has(mount.name), `${name}/${container.name}: ${mount.name}`);
    }
  });

  test('helm lint finds nothing', () => {
    for (const values of [[], everything]) helm(['lint', chart, '--strict', '--kube-version', '1.34.0'], values);
  });
});

test('invalid values are refused with a reason', () => {
  const refused: readonly [values: readonly string[], reason: RegExp][] = [
    [['controller.replica=3'], /additional properties 'replica' not allowed/],
    [['networking.datapathType=dpdk'], /\/networking\/datapathType': value must be one of 'system', 'netdev'/],
    [['networking.encapType=gre'], /\/networking\/encapType': value must be one of 'geneve', 'geneve,vxlan', 'vxlan'/],
    [['networking.encapType=vxlan', 'interconnect.enabled=true'], /leave it at geneve for a member of an interconnect/],
    [['networking.podCIDR=10.16.0.0'], /networking.podCIDR: "10.16.0.0" is not an IPv4 CIDR/],
    [['networking.joinCIDR=100.64.0.0/33'], /networking.joinCIDR: "100.64.0.0\/33" is not an IPv4 CIDR/],
    [['networking.mtu=100'], /\/networking\/mtu/],
    [['ovn.central.replicas=2'], /ovn.central.replicas: 2 members lose their majority/],
    [
      ['ovn.tls.authoritySecrets.members=ca', 'ovn.tls.authoritySecrets.chassis=ca'],
      /members and chassis need two CAs/,
    ],
    [['ovn.tls.secretName=mine'], /ovn.tls.secretName is for databases that you run yourself/],
    [['ovn.central.deploy=false'], /ovn.remotes.nb and ovn.remotes.sb are needed when/],
    [['clusterName=East'], /\/clusterName': 'East' does not match pattern/],
    [['interconnect.hub=192.0.2.1:6650'], /clusterName is needed/],
    [['interconnect.token=t', 'clusterName=east'], /interconnect.hub is needed/],
    [['interconnect.hub=192.0.2.1'], /\/interconnect\/hub': '192.0.2.1' does not match/],
    [['hub.enabled=true'], /hub.address is needed/],
    [['services.nodes=on'], /services\.nodes: on needs apiServer\.host/],
    [['daemon.cni.plugins[0].name=x'], /\/daemon\/cni\/plugins\/0': missing property 'type'/],
    [['daemon.cni.plugins[0].type=../x'], /\/daemon\/cni\/plugins\/0\/type'/],
  ];
  for (const [values, reason] of refused) assert.throws(() => renderChart(values), reason, values.join(' '));
});

test('the CNI chain follows the values and is one valid JSON list', () => {
  const typesOf = (...values: string[]): readonly string[] => {
    const config = ofKind(parseManifests(renderChart(values)), 'ConfigMap').find(
      ({ metadata }) => metadata.name === 'isthmus-cni',
    );
    const data = config?.['data'] as Readonly<Record<string, string>> | undefined;
    const text = data?.['01-isthmus.conflist'] ?? '';
    return (JSON.parse(text) as { plugins: { type: string; sysctl?: unknown }[] }).plugins.map(
      ({ type, sysctl }) => `${type}${sysctl === undefined ? '' : JSON.stringify(sysctl)}`,
    );
  };
  assert.deepEqual(typesOf(), ['isthmus', 'portmap']);
  assert.deepEqual(typesOf('daemon.cni.portmap=false'), ['isthmus']);
  assert.deepEqual(
    typesOf(
      'daemon.cni.bandwidth=true',
      'daemon.cni.plugins[0].type=tuning',
      'daemon.cni.plugins[0].sysctl.net\\.core\\.somaxconn=500',
      'daemon.cni.plugins[1].type=sbr',
    ),
    ['isthmus', 'portmap', 'bandwidth', 'tuning{"net.core.somaxconn":500}', 'sbr'],
  );
});

test('the agent is deployed with a hub, which makes the cluster a member, or with interconnect.enabled, to wait for one', () => {
  const kinds = (...values: string[]) => {
    const manifests = parseManifests(renderChart(values));
    const agents = ofKind(manifests, 'Deployment').filter(({ metadata }) => metadata.name === 'isthmus-interconnect');
    return [agents.length, ofKind(manifests, 'Interconnect').length];
  };
  assert.deepEqual(kinds(), [0, 0]);
  assert.deepEqual(kinds('interconnect.enabled=true'), [1, 0]);
  assert.deepEqual(kinds('clusterName=east', 'interconnect.hub=192.0.2.1:6650', 'interconnect.token=t'), [1, 1]);
});

describe('rights', () => {
  const roles = ofKind(whole, 'ClusterRole', 'Role');
  const bindings = ofKind(whole, 'ClusterRoleBinding', 'RoleBinding');
  const accounts = ofKind(whole, 'ServiceAccount').map(({ metadata }) => metadata.name);

  test('no role has a wildcard or a verb that gives rights', () => {
    assert.ok(roles.length > 0);
    for (const { metadata, rules } of roles)
      for (const rule of rules as readonly Rule[]) {
        const words = [
          ...rule.verbs,
          ...(rule.apiGroups ?? []),
          ...(rule.resources ?? []),
          ...(rule.nonResourceURLs ?? []),
        ];
        const bad = words.filter((word) => word.includes('*') || /^(escalate|bind|impersonate)$/.test(word));
        assert.deepEqual(bad, [], `${metadata.name}: ${JSON.stringify(rule)}`);
      }
  });

  test('the previous release’s controller may annotate pods with addresses until the new controller leads', () => {
    const rules = (roles.find(({ metadata }) => metadata.name === 'isthmus-controller')?.['rules'] ?? []) as Rule[];
    for (const resource of ['pods', 'pods/status'])
      assert.ok(
        rules.some(({ resources, verbs }) => resources?.includes(resource) && verbs.includes('patch')),
        resource,
      );
  });

  test('few roles read Secrets, only in the release’s namespace, and speakers those with passwords', () => {
    const isOfSecrets = ({ resources }: Rule): boolean => resources?.includes('secrets') === true;
    const readers = roles.filter(({ rules }) => (rules as readonly Rule[]).some(isOfSecrets));
    for (const { kind, metadata, rules } of readers) {
      assert.equal(kind, 'Role', metadata.name);
      assert.match(metadata.name, /^isthmus-(central|interconnect|hub|ovn-client|speaker-passwords)$/);
      if (metadata.name !== 'isthmus-speaker-passwords') continue;
      for (const rule of rules as readonly Rule[]) assert.deepEqual(rule.resourceNames, ['isthmus-bgp-passwords']);
    }
    assert.ok(readers.some(({ metadata }) => metadata.name === 'isthmus-speaker-passwords'));
  });

  test('the agent reads the token Secrets of the values and of `isthmus ic join`', () => {
    for (const [values, names] of [
      [everything, ['isthmus-interconnect-token']],
      [
        [...everything, 'interconnect.existingSecret=mine'],
        ['isthmus-interconnect-token', 'mine'],
      ],
    ] as const) {
      const manifests = parseManifests(renderChart(values));
      const role = ofKind(manifests, 'Role').find(({ metadata }) => metadata.name === 'isthmus-interconnect');
      const readable = ((role?.['rules'] ?? []) as readonly Rule[]).filter(
        ({ resources, verbs }) => resources?.includes('secrets') && verbs.join() === 'get',
      );
      assert.deepEqual(
        readable.map(({ resourceNames }) => resourceNames),
        [names],
      );
      const interconnect = ofKind(manifests, 'Interconnect')[0]?.['spec'] as { tokenSecretRef: { name: string } };
      assert.equal(interconnect.tokenSecretRef.name, names.at(-1));
    }
  });

  test('every binding joins a role and an account that exist', () => {
    for (const binding of bindings) {
      const { kind, name } = binding['roleRef'] as { kind: string; name: string };
      assert.ok(
        roles.some((role) => role.kind === kind && role.metadata.name === name),
        `${binding.metadata.name}: ${kind} ${name}`,
      );
      for (const subject of binding['subjects'] as readonly { name: string; namespace: string }[]) {
        assert.ok(accounts.includes(subject.name), `${binding.metadata.name}: ${subject.name}`);
        assert.equal(subject.namespace, 'kube-system');
      }
    }
  });

  test('central reads the Secrets of an administrator’s authorities, and no others', () => {
    const rolesWith = (sets: readonly string[]): readonly Rule[] =>
      parseManifests(renderChart(sets))
        .filter(({ kind, metadata }) => kind === 'Role' && metadata.name === 'isthmus-central')
        .flatMap((role) => role['rules'] as readonly Rule[])
        .filter(({ resources, verbs }) => resources?.includes('secrets') && verbs.join() === 'get');
    assert.deepEqual(rolesWith([]), []);
    const [rule, ...others] = rolesWith(['ovn.tls.authoritySecrets.members=corporate']);
    assert.deepEqual([rule?.resourceNames, others], [['corporate'], []]);
  });

  test('an admission policy validates every write of daemons and speakers, unless switched off', () => {
    const policies = ofKind(whole, 'ValidatingAdmissionPolicy').map(({ metadata, spec }) => ({
      name: metadata.name,
      ...(spec as PolicySpec),
    }));
    const bound = ofKind(whole, 'ValidatingAdmissionPolicyBinding').map(({ spec }) => spec as BindingSpec);
    for (const { name, failurePolicy, matchConditions } of policies) {
      assert.equal(failurePolicy, 'Fail', name);
      for (const account of ['isthmus-daemon', 'isthmus-speaker'])
        assert.match(
          matchConditions[0]?.expression ?? '',
          new RegExp(`'system:serviceaccount:kube-system:${account}'`),
        );
      const actions = bound.filter(({ policyName }) => policyName === name).map((each) => each.validationActions);
      assert.deepEqual(actions, [['Deny']], name);
    }
    const operations = { create: 'CREATE', patch: 'UPDATE', update: 'UPDATE', delete: 'DELETE' } as const;
    const rulesOf = (name: string): readonly Rule[] =>
      (roles.find(({ metadata }) => metadata.name === name)?.['rules'] ?? []) as readonly Rule[];
    const writes = ['isthmus-daemon', 'isthmus-speaker'].flatMap(rulesOf).flatMap((rule) =>
      rule.verbs
        .filter((verb) => verb in operations)
        .flatMap((verb) =>
          (rule.resources ?? []).map((resource) => ({
            group: rule.apiGroups?.[0] ?? '',
            resource,
            operation: operations[verb as keyof typeof operations],
          })),
        ),
    );
    assert.ok(writes.length > 10);
    const known = ['get', 'list', 'watch', ...Object.keys(operations)];
    for (const { verbs } of ['isthmus-daemon', 'isthmus-speaker'].flatMap(rulesOf))
      assert.deepEqual(
        verbs.filter((verb) => !known.includes(verb)),
        [],
      );
    const isLookedAt = ({ group, resource, operation }: (typeof writes)[number]): boolean =>
      policies
        .flatMap(({ matchConstraints }) => matchConstraints.resourceRules)
        .some(
          (rule) =>
            rule.apiGroups.includes(group) && rule.resources.includes(resource) && rule.operations.includes(operation),
        );
    assert.deepEqual(
      writes.filter((write) => !isLookedAt(write)),
      [],
    );
    const without = parseManifests(renderChart(['rbac.admissionPolicy=false']));
    assert.deepEqual(ofKind(without, 'ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'), []);
  });

  test('only rooms with rights have a token', () => {
    const bound = new Set(bindings.flatMap(({ subjects }) => (subjects as { name: string }[]).map(({ name }) => name)));
    for (const [name, pod] of workloads(whole))
      if (pod.automountServiceAccountToken === true) assert.ok(bound.has(pod.serviceAccountName ?? ''), name);
      else assert.equal(pod.automountServiceAccountToken, false, name);
  });
});

test('a container that needs root sets runAsUser, because the images have another user', () => {
  const writesHost = (pod: PodSpec, container: Container): boolean =>
    (container.volumeMounts ?? []).some(
      ({ name, readOnly }) =>
        readOnly !== true && pod.volumes.some((volume) => volume.name === name && volume.hostPath !== undefined),
    );
  for (const manifests of [defaults, whole, withoutStorageClass])
    for (const [name, pod] of workloads(manifests)) {
      // An init container sets the owner of the pod's folder on the node.
      const isOwned = (pod.initContainers ?? []).some(({ command }) => command?.[0] === 'chown');
      for (const container of containersOf(pod)) {
        const context = { ...pod.securityContext, ...container.securityContext };
        const needsRoot = context['privileged'] === true || (writesHost(pod, container) && !isOwned);
        assert.ok(context['runAsUser'] === 0 || context['runAsUser'] === 65532, `${name}/${container.name}`);
        if (needsRoot) assert.equal(context['runAsUser'], 0, `${name}/${container.name}`);
      }
    }
});

test('every liveness probe has a startup probe, so that a slow start is not a restart', () => {
  for (const [name, pod] of workloads(whole))
    for (const { name: container, livenessProbe, startupProbe } of pod.containers)
      assert.deepEqual(startupProbe?.httpGet, livenessProbe?.httpGet, `${name}/${container}`);
});

test('a new chart version alone restarts no pod', () => {
  for (const { metadata, spec } of whole) {
    const { labels } =
      (spec as { template?: { metadata?: { labels?: object } } } | undefined)?.template?.metadata ?? {};
    assert.doesNotMatch(JSON.stringify(labels ?? {}), /version|helm\.sh\/chart/, metadata.name);
  }
});

test('the daemon sees the control sockets of the programs that it watches', () => {
  const all = new Map(workloads(defaults));
  const containerOf = (workload: string, name: string): Container => {
    const container = all.get(workload)?.containers.find((each) => each.name === name);
    assert.ok(container, `${workload}/${name}`);
    return container;
  };
  const flagOf = (flag: string, { command = [], args = [] }: Container): string =>
    [...command, ...args].find((each) => each.startsWith(`--${flag}=`))?.slice(flag.length + 3) ?? '';
  /** The path on the node of a path in the container. */
  const onNode = (workload: string, { volumeMounts = [] }: Container, path: string): string => {
    const mount = volumeMounts
      .filter(({ mountPath }) => path.startsWith(`${mountPath}/`))
      .reduce((a, b) => (a.mountPath.length > b.mountPath.length ? a : b));
    const folder = all.get(workload)?.volumes.find(({ name }) => name === mount.name)?.hostPath?.path ?? '';
    return join(folder, mount.subPath ?? '', path.slice(mount.mountPath.length));
  };
  const ovs = 'DaemonSet isthmus-ovs';
  const daemon = containerOf('DaemonSet isthmus-daemon', 'daemon');
  const database = dirname(flagOf('ovs', daemon).replace('unix:', ''));
  for (const [program, folder] of [
    ['ovs-vswitchd', database],
    ['ovn-controller', flagOf('ovs-rundir', daemon)],
  ] as const) {
    const container = containerOf(ovs, program);
    const socket = onNode(ovs, container, flagOf('unixctl', container));
    assert.equal(onNode('DaemonSet isthmus-daemon', daemon, `${folder}/${program}.ctl`), socket, program);
  }
});

test('a hub without a storage class keeps its databases in a folder of its node', () => {
  for (const { spec } of ofKind(withoutStorageClass, 'StatefulSet'))
    assert.ok(!Object.hasOwn(spec as object, 'volumeClaimTemplates'));
  const [, pod] = [...workloads(withoutStorageClass)].find(([name]) => name === 'StatefulSet isthmus-hub') ?? [];
  const volume = pod?.volumes.find(({ name }) => name === 'state');
  assert.deepEqual(volume?.hostPath, { path: '/var/lib/isthmus/hub', type: 'DirectoryOrCreate' });
});

test('only the daemon is privileged; every container drops what it does not need', () => {
  for (const manifests of [defaults, whole])
    for (const [name, pod] of workloads(manifests))
      for (const container of containersOf(pod)) {
        const where = `${name}/${container.name}`;
        const context = container.securityContext ?? {};
        assert.equal(context['readOnlyRootFilesystem'], true, where);
        if (where === 'DaemonSet isthmus-daemon/daemon') continue;
        assert.notEqual(context['privileged'], true, where);
        assert.equal(context['allowPrivilegeEscalation'], false, where);
        assert.deepEqual((context['capabilities'] as { drop: string[] }).drop, ['ALL'], where);
      }
});

describe('flags', () => {
  const sources: Readonly<Record<string, string>> = {
    'central.mjs': 'central/main.ts',
    'controller.mjs': 'controller/main.ts',
    'daemon.mjs': 'daemon/main.ts',
    'install-cni.mjs': 'daemon/install-cni.ts',
    'interconnect.mjs': 'interconnect/main.ts',
    'hub.mjs': 'interconnect/hub/main.ts',
    'speaker.mjs': 'speaker/main.ts',
  };
  for (const [name, pod] of workloads(whole))
    for (const container of containersOf(pod)) {
      const [program, ...rest] = container.command ?? [];
      if (program !== 'node') continue;
      const [bundle = '', ...subcommand] = rest.filter((argument) => !argument.startsWith('--'));
      test(`${name}/${container.name} gives each flag its program needs and no other`, () => {
        const source = join(chart, '../..', sources[bundle.replace('/opt/isthmus/', '')] ?? 'unknown');
        const help = execFileSync(process.execPath, [source, ...subcommand, '--help'], { encoding: 'utf8' });
        const blocks = help.split(/^ {2}(?=--)/m).slice(1);
        const known = new Map(
          blocks.map((text) => [/^--[a-z0-9-]+/.exec(text)?.[0] ?? '', text.includes('(required)')]),
        );
        const given = (container.args ?? []).map((argument) => argument.replace(/=.*/s, ''));
        assert.deepEqual(
          given.filter((flag) => !known.has(flag)),
          [],
        );
        assert.deepEqual(
          [...known].filter(([flag, isRequired]) => isRequired && !given.includes(flag)),
          [],
        );
      });
    }
});

for (const [name, program] of [
  ['Deployment isthmus-controller', 'controller'],
  ['DaemonSet isthmus-daemon', 'daemon'],
] as const)
  test(`the lab and the benchmarks run the ${program} as the chart does`, () => {
    const [, pod] = [...workloads(defaults)].find(([workload]) => workload === name) ?? [];
    const [container] = pod?.containers ?? [];
    assert.deepEqual(container?.command, ['node', ...frugalProcess.flags, `/opt/isthmus/${program}.mjs`]);
    const given = new Map(container.env?.map((one) => [one.name, one.value]));
    for (const [variable, value] of Object.entries(frugalProcess.env))
      assert.equal(given.get(variable), value, variable);
  });
