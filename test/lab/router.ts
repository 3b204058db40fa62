/** A physical router, simulated by FRR: eBGP to the speaker nodes of every cluster, and one address that is "the outside". */
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Component, socketAnswers, startAndWait } from './component.ts';
import { isSpeaker, type Lab, type NodeLayout, type RouterLayout } from './layout.ts';
import { run } from './run.ts';

/** Starts zebra and bgpd; `vtysh --vty_socket <router dir>` works once it returns. */
export async function startRouter(lab: Lab, router: RouterLayout): Promise<void> {
  const { dir } = router;
  writeFileSync(join(dir, 'zebra.conf'), `hostname ${router.name}\nlog stdout informational\n`);
  writeFileSync(join(dir, 'bgpd.conf'), renderBgp(lab, router));
  // FRR drops root before it creates its sockets and reads its configuration.
  const [uid, gid] = await frrIds();
  chownSync(dir, uid, gid);
  chmodSync(dir, 0o755);
  await startAndWait(frr(router, 'zebra', []), socketAnswers(join(dir, 'zserv.api')));
  await startAndWait(frr(router, 'bgpd', ['-l', router.address]), socketAnswers(join(dir, 'bgpd.vty')));
}

async function frrIds(): Promise<[number, number]> {
  const ids = await Promise.all([run(['id', '-u', 'frr']), run(['id', '-g', 'frr'])]);
  return [Number(ids[0]), Number(ids[1])];
}

function frr(router: RouterLayout, name: 'zebra' | 'bgpd', more: readonly string[]): Component {
  const { dir } = router;
  return {
    dir,
    name,
    netns: router.netns,
    argv: [
      `/usr/lib/frr/${name}`,
      '-f',
      join(dir, `${name}.conf`),
      '-z',
      join(dir, 'zserv.api'),
      '--vty_socket',
      dir,
      '-i',
      join(dir, `${name}.lock`),
      '-P',
      '0',
      '--log',
      'stdout',
      ...more,
    ],
    staleFiles: [join(dir, name === 'zebra' ? 'zserv.api' : 'bgpd.vty')],
  };
}

/** On kubelets, users label the speaker nodes at any time. */
function mayPeer(node: NodeLayout): boolean {
  return isSpeaker(node) || node.runtime === 'kubelet';
}

function renderBgp(lab: Lab, router: RouterLayout): string {
  const neighbours = lab.clusters.flatMap((cluster) =>
    cluster.nodes.filter(mayPeer).map((node) => ({ address: node.address, asn: cluster.asn, text: node.netns })),
  );
  return [
    `hostname ${router.name}`,
    'log stdout informational',
    `router bgp ${String(router.asn)}`,
    ` bgp router-id ${router.address}`,
    // Otherwise FRR drops routes of an eBGP neighbour without a policy, and reports it only in `show bgp summary`.
    ' no bgp ebgp-requires-policy',
    ' bgp bestpath as-path multipath-relax',
    ...neighbours.flatMap(({ address, asn, text }) => [
      ` neighbor ${address} remote-as ${String(asn)}`,
      ` neighbor ${address} description ${text}`,
      ` neighbor ${address} timers 3 9`,
      ` neighbor ${address} timers connect 1`,
      ` neighbor ${address} advertisement-interval 0`,
    ]),
    ' address-family ipv4 unicast',
    '  maximum-paths 16',
    ...neighbours.map(({ address }) => `  neighbor ${address} soft-reconfiguration inbound`),
    ' exit-address-family',
    '',
  ].join('\n');
}

/** Output of a show command. @throws Error with the output of vtysh. */
export function vtysh(router: RouterLayout, command: string): Promise<string> {
  return run(['vtysh', '--vty_socket', router.dir, '-c', command]);
}
