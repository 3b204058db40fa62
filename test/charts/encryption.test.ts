/** Encrypted tunnels between clusters in the chart: what is rendered with them, and that nothing runs without them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { everything, type Manifest, parseManifests, renderChart, type Values } from './render.ts';

interface Workload {
  readonly template: {
    readonly spec: {
      readonly hostNetwork?: boolean;
      readonly automountServiceAccountToken?: boolean;
      readonly serviceAccountName?: string;
      readonly nodeSelector: object;
      readonly containers: readonly {
        readonly command?: readonly string[];
        readonly args?: readonly string[];
        readonly securityContext: { readonly capabilities: object; readonly privileged?: boolean };
        readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
      }[];
      readonly volumes: readonly { readonly name: string; readonly hostPath?: { readonly path: string } }[];
    };
  };
}

function find(manifests: readonly Manifest[], kind: string, name: string): Manifest | undefined {
  return manifests.find((one) => one.kind === kind && one.metadata.name === name);
}

function specOf(manifests: readonly Manifest[], kind: string, name: string): unknown {
  const found = find(manifests, kind, name);
  assert.ok(found !== undefined, `${kind} ${name}`);
  return found['spec'];
}

const render = (...values: Values): readonly Manifest[] => parseManifests(renderChart([...everything, ...values]));
const encrypted: Values = [
  'interconnect.encryption.mode=required',
  'interconnect.encryption.clusters[0].name=west',
  'interconnect.encryption.clusters[0].mode=off',
  'interconnect.encryption.userspace=true',
  'interconnect.encryption.port=51999',
];

describe('encrypted tunnels', () => {
  test('are off by default: nobody runs WireGuard, and the Interconnect wishes nothing', () => {
    const manifests = render();
    assert.equal(find(manifests, 'DaemonSet', 'isthmus-wireguard'), undefined);
    assert.equal('encryption' in (specOf(manifests, 'Interconnect', 'default') as object), false);
    // Definitions of kinds say what it is.
    const others = manifests.filter(({ kind }) => kind !== 'CustomResourceDefinition');
    assert.ok(!/wireguard-go|isthmus-wg/.test(JSON.stringify(others)));
  });

  test('have the mode of the values', () => {
    const { encryption } = specOf(render(...encrypted), 'Interconnect', 'default') as { encryption: object };
    assert.deepEqual(encryption, { mode: 'required', clusters: [{ name: 'west', mode: 'off' }] });
    assert.throws(() => render('interconnect.encryption.mode=maybe'), /interconnect.encryption.mode|encryption\/mode/);
  });

  test('have a WireGuard that the daemon finds, on gateways, with no right but that for the network', () => {
    const manifests = render(...encrypted);
    const podOf = (name: string) => (specOf(manifests, 'DaemonSet', name) as Workload).template.spec;
    const [wireGuard, daemon] = [podOf('isthmus-wireguard'), podOf('isthmus-daemon')];
    const [container] = wireGuard.containers;
    assert.deepEqual(container?.command, ['wireguard-go', '-f', 'isthmus-wg']);
    assert.deepEqual(container.securityContext.capabilities, { drop: ['ALL'], add: ['NET_ADMIN'] });
    assert.equal(container.securityContext.privileged, undefined);
    assert.deepEqual([wireGuard.automountServiceAccountToken, wireGuard.serviceAccountName], [false, undefined]);
    assert.deepEqual([wireGuard.hostNetwork, wireGuard.nodeSelector], [true, { 'ovn.kubernetes.io/ic-gw': 'true' }]);
    // Its socket, and not the private key.
    const paths = wireGuard.volumes.map(({ hostPath }) => hostPath?.path);
    assert.deepEqual(paths, ['/run/isthmus/wireguard', '/dev/net/tun']);
    const flags = daemon.containers.flatMap(({ args, command }) => [...(command ?? []), ...(args ?? [])]);
    assert.ok(flags.includes('--wireguard-port=51999'));
    const mounts = daemon.containers.flatMap(({ volumeMounts }) => volumeMounts.map(({ mountPath }) => mountPath));
    assert.ok(mounts.includes('/run/isthmus') && mounts.includes('/var/lib/isthmus/node'), mounts.join());
  });
});
