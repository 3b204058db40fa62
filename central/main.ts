/**
 * Central: one instance on each node that may serve OVN's databases. In: Kubernetes objects. Out: instructions for the containers in the same pod.
 * Wiring only. Each instance manages its own node; the holder of the Lease also decides which nodes serve. An instance that loses the Lease continues
 * to manage its node.
 */
import { openKube } from '../lib/kube/client.ts';
import { LeaseLost } from '../lib/kube/errors.ts';
import { EventRecorder } from '../lib/kube/events.ts';
import { runWithLease } from '../lib/kube/leader.ts';
import { reflect } from '../lib/kube/reflector.ts';
import { configMaps, nodes } from '../lib/kube/resources.ts';
import { createRegistry, serveHealth } from '../lib/run/health.ts';
import { RoundEngine } from '../lib/rounds/engine.ts';
import { runRoom } from '../lib/run/room.ts';
import { databaseKeys, remotesIn } from '../lib/ovn/databases.ts';
import { Authorities } from './apply/authorities.ts';
import { certify } from './apply/certification.ts';
import { Credentials } from './apply/credentials.ts';
import { leaveIfAsked } from './apply/departure.ts';
import { wakeAfterElections } from './apply/election-wakeup.ts';
import { hold } from './apply/holder.ts';
import { Member } from './apply/member.ts';
import { parseSettings } from './settings.ts';
import { openMetrics } from './status/metrics.ts';
import { Publisher } from './status/publisher.ts';
import { Copies } from './watch/copies.ts';
import { untilCredentials } from './watch/credentials.ts';
import { dataOf, parseCandidate, parseCentralMap } from './watch/objects.ts';
import { centralName, clientsName } from './model/central-map.ts';
import { leaderOf } from './model/report.ts';

runRoom('central', async (signal, log) => {
  const settings = parseSettings(process.argv.slice(2), process.env);
  const { node, address, namespace, scheme, identity } = settings;
  const client = openKube({ kubeconfig: settings.kubeconfig, userAgent: 'isthmus-central' });
  // A broken watch is retried soon: after an outage, the API server has plans for this node.
  const common = { client, signal, log, timing: { maxMs: 2000 } };
  const candidates = reflect({
    ...common,
    resource: nodes,
    labelSelector: settings.nodeSelector,
    parse: parseCandidate,
  });
  const maps = reflect({ ...common, ...configMap(centralName), parse: parseCentralMap });
  const clients = reflect({ ...common, ...configMap(clientsName), parse: dataOf });
  const map = () => maps.get(`${namespace}/${centralName}`);
  const publisher = new Publisher({ client, namespace, node, signal, log });
  maps.subscribe(({ after }) => publisher.seen(after?.data[`node.${node}`]));
  const subscribe = (onChange: () => void): (() => void) => {
    const stops = [candidates, maps, clients].map((reflector) => reflector.subscribe(onChange));
    return () => stops.forEach((stop) => stop());
  };

  const member = await Member.open({
    ...settings,
    log,
    copies: new Copies(settings),
    read: map,
    publish: (report) => publisher.publish(report),
  });
  const registry = createRegistry('central');
  const health = await serveHealth({ address: settings.metricsAddress, ready: () => member.isReady, registry });
  openMetrics(registry, member, Date.now);

  const certificates = scheme === 'ssl' ? openCertificates() : undefined;
  // Without a certificate the servers would exit repeatedly. The certificate of the last run is sufficient if the API server is unreachable.
  if (certificates !== undefined) await untilCredentials(settings.tlsDir, signal, log);
  const engine: RoundEngine = new RoundEngine({ run: async () => engine.wakeAfter(await member.round()) });
  subscribe(() => engine.request());
  const looking = engine.run(signal);
  const leading = lead();
  await Promise.race([looking, leading]);
  await Promise.all([looking, leading]);
  await Promise.all([
    publisher.close(),
    health.close(),
    certificates?.authorities.close(),
    certificates?.credentials.close(),
  ]);
  await client.close();
  await leaveIfAsked(settings.runDir, settings.tlsDir);

  function openCertificates() {
    const given = settings.authoritySecrets;
    const authorities = new Authorities({ client, namespace, signal, log, nowMs: Date.now, given });
    const credentials = new Credentials({ authorities, folder: settings.tlsDir, node, log, nowMs: Date.now });
    return { authorities, credentials };
  }

  function configMap(name: string) {
    return { resource: configMaps, namespace, fieldSelector: `metadata.name=${name}` };
  }

  async function lead(): Promise<void> {
    await Promise.all([candidates.synced, maps.synced, clients.synced]).catch(() => undefined);
    while (!signal.aborted) {
      const events = new EventRecorder({ client, component: 'isthmus-central', instance: node, signal, log });
      try {
        await runWithLease({
          client,
          namespace,
          name: 'isthmus-central',
          identity,
          signal,
          log,
          lead: async (leading) => {
            const holding = hold(
              {
                ...settings,
                client,
                events,
                log,
                nowMs: Date.now,
                candidates: () => [...candidates.entries()].map(([, candidate]) => candidate),
                map,
                kept: () => member.plan,
                clientsMap: () => clients.get(`${namespace}/${clientsName}`),
                subscribe,
              },
              leading,
            );
            const common = { client, namespace, address, log, nowMs: Date.now };
            const { authorities, credentials } = certificates ?? {};
            const certifying =
              authorities && credentials && certify({ ...common, authorities, tls: credentials.tls }, leading);
            const waking = wakeAfterElections(
              {
                subscribe,
                log,
                nowMs: Date.now,
                term: () => leaderOf(map()?.reports ?? new Map(), 'sb', map()?.plan?.clusters.sb ?? '')?.term,
                northbound: () => {
                  const remotes = remotesIn(clients.get(`${namespace}/${clientsName}`), databaseKeys.nb);
                  // While TLS is switched on or off, the published servers still listen by the other scheme.
                  const isUsable = remotes.length > 0 && remotes.every((remote) => remote.startsWith(`${scheme}:`));
                  return isUsable ? { remotes, ...(credentials && { tls: credentials.tls }) } : undefined;
                },
              },
              leading,
            );
            await Promise.all([holding, certifying, waking]);
          },
        });
      } catch (error) {
        // Every write under the Lease names the version that it was decided on: a late write cannot undo a successor's.
        if (!(error instanceof LeaseLost)) throw error;
        log.warn({ error: error.message }, 'the plan is left to others');
      }
      await events.close();
    }
  }
});
