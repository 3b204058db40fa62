import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderResult, type Attachment } from './result.ts';

const attachment: Attachment = {
  hostInterface: { name: 'abc_h', mac: '02:00:00:00:00:01' },
  podInterface: { name: 'eth0', mac: '02:00:00:00:00:02', netns: '/var/run/netns/x' },
  mtu: 1400,
  addresses: [
    { address: '10.16.0.5/16', gateway: '10.16.0.1' },
    { address: 'fd00::5/64', gateway: undefined },
  ],
  routes: [{ destination: '0.0.0.0/0', gateway: '10.16.0.1' }],
};

test('a result of 1.0.0', () => {
  assert.deepEqual(JSON.parse(renderResult('1.0.0', attachment)), {
    cniVersion: '1.0.0',
    interfaces: [
      { name: 'abc_h', mac: '02:00:00:00:00:01' },
      { name: 'eth0', mac: '02:00:00:00:00:02', sandbox: '/var/run/netns/x' },
    ],
    ips: [
      { interface: 1, address: '10.16.0.5/16', gateway: '10.16.0.1' },
      { interface: 1, address: 'fd00::5/64' },
    ],
    routes: [{ dst: '0.0.0.0/0', gw: '10.16.0.1' }],
    dns: {},
  });
});

test('a result of 1.1.0 adds only the MTU of both ends', () => {
  const older = JSON.parse(renderResult('1.0.0', attachment)) as { interfaces: object[] };
  assert.deepEqual(JSON.parse(renderResult('1.1.0', attachment)), {
    ...older,
    cniVersion: '1.1.0',
    interfaces: older.interfaces.map((one) => ({ ...one, mtu: 1400 })),
  });
});

for (const version of ['0.3.1', '0.4.0'] as const) {
  test(`a result of ${version} contains the version of each address`, () => {
    const result = JSON.parse(renderResult(version, attachment)) as { cniVersion: string; ips: { version: string }[] };
    assert.equal(result.cniVersion, version);
    assert.deepEqual(
      result.ips.map((ip) => ip.version),
      ['4', '6'],
    );
    assert.ok(!JSON.stringify(result).includes('mtu'));
  });
}

test('results of earlier plugins of a chain stay in front', () => {
  const previous = {
    interfaces: [{ name: 'dummy0' }],
    ips: [{ interface: 0, address: '192.0.2.1/32' }],
    dns: { domain: 'x' },
  };
  const result = JSON.parse(renderResult('1.0.0', attachment, previous)) as {
    interfaces: { name: string }[];
    ips: { interface: number }[];
    dns: object;
  };
  assert.deepEqual(
    result.interfaces.map(({ name }) => name),
    ['dummy0', 'abc_h', 'eth0'],
  );
  assert.deepEqual(
    result.ips.map((ip) => ip.interface),
    [0, 2, 2],
  );
  assert.deepEqual(result.dns, { domain: 'x' });
});
