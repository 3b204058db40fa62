import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerCommand, imageName } from '../cri/image.ts';
import { parsePod, type Pod } from './pod.ts';
import { containerConfigs, sandboxConfig } from './sandbox-config.ts';

const place = { attempt: 2, cgroupParent: '/lab/n1', logDirectory: '/logs', serviceCidr: '10.96.0.0/16' };

function pod(spec: object, name = 'web'): Pod {
  return parsePod({ metadata: { name, namespace: 'shop', uid: 'u1', resourceVersion: '1' }, spec });
}

test('a sandbox has the names of its pod, the attempt and the labels for lookup', () => {
  const config = sandboxConfig(pod({ containers: [] }), place);
  assert.deepEqual(config.metadata, { name: 'web', namespace: 'shop', uid: 'u1', attempt: 2 });
  assert.deepEqual(config.linux, { cgroup_parent: '/lab/n1' });
  assert.equal(config.labels?.['io.kubernetes.pod.uid'], 'u1');
});

test('the hostname is that of the pod’s spec or the pod’s name, cut to the kernel’s limit', () => {
  assert.equal(sandboxConfig(pod({ hostname: 'mail', containers: [] }), place).hostname, 'mail');
  const long = sandboxConfig(pod({ containers: [] }, `${'a'.repeat(62)}-b`), place);
  assert.equal(long.hostname, 'a'.repeat(62));
});

test('DNS follows the pod’s policy: cluster, node or its own configuration', () => {
  const dns = (spec: object) => sandboxConfig(pod({ containers: [], ...spec }), place).dns_config;
  assert.deepEqual(dns({}), {
    servers: ['10.96.0.10'],
    searches: ['shop.svc.cluster.local', 'svc.cluster.local', 'cluster.local'],
    options: ['ndots:5'],
  });
  assert.equal(dns({ dnsPolicy: 'Default' }), undefined);
  const dnsConfig = { nameservers: ['192.0.2.1'], options: [{ name: 'ndots', value: '1' }, { name: 'rotate' }] };
  const own = { servers: ['192.0.2.1'], searches: [], options: ['ndots:1', 'rotate'] };
  assert.deepEqual(dns({ dnsPolicy: 'None', dnsConfig }), own);
  assert.deepEqual(dns({ dnsConfig })?.servers, ['10.96.0.10', '192.0.2.1']);
});

test('host ports are passed to the runtime', () => {
  const ports = [{ containerPort: 53, hostPort: 5353, protocol: 'UDP', hostIP: '192.0.2.7' }, { containerPort: 80 }];
  assert.deepEqual(sandboxConfig(pod({ containers: [{ name: 'a', ports }] }), place).port_mappings, [
    { protocol: 'UDP', container_port: 53, host_port: 5353, host_ip: '192.0.2.7' },
    { protocol: 'TCP', container_port: 80, host_port: 0, host_ip: '' },
  ]);
});

test('one container answers for the pod; a command counts where the image is the lab’s own', () => {
  const spec = {
    containers: [
      { name: 'own', image: imageName, command: ['sh'], args: ['-c', 'true'], env: [{ name: 'A', value: 'b' }] },
      { name: 'first', image: 'nginx', command: ['nginx'] },
      { name: 'second', image: 'redis' },
    ],
  };
  const [own, first, second] = containerConfigs(pod(spec));
  assert.deepEqual([own?.command, own?.args], [['sh'], ['-c', 'true']]);
  assert.deepEqual(own?.envs, [
    { key: 'POD_NAME', value: 'web' },
    { key: 'A', value: 'b' },
  ]);
  assert.deepEqual([first?.image.image, first?.command], [imageName, answerCommand]);
  assert.equal(second?.command, undefined);
});
