/** The exports of all clusters over the membership. In: the hub's updates and answers. Out: one view of it for `apply/services.ts` and `status/`. */
import type { Delivery, ExportExchange } from '../model/export-exchange.ts';
import type { Clusters } from '../state/clusters.ts';
import { mostExports } from '../state/own-exports.ts';
import type { Membership } from './membership.ts';

/** Codes by which the hub leaves endpoints out and accepts the rest of the export. */
const partial: ReadonlySet<string> = new Set(['EndpointNotOffered', 'MaxEndpoints']);

export interface ExchangeParts {
  readonly membership: Pick<Membership, 'sendExports' | 'areExportsKnown' | 'isSurplusExport' | 'state'>;
  readonly clusters: Pick<Clusters, 'exports' | 'hub'>;
}

export function openExchange({ membership, clusters }: ExchangeParts): ExportExchange {
  const { exports, hub } = clusters;
  return {
    of: (key) => exports.of(key),
    takeDirty: () => exports.takeDirty(),
    get isReceived() {
      // A hub of an earlier release never sends an export.
      return exports.isComplete || hub.carriesExports === false;
    },
    get unknown() {
      return new Set(hub.carriesExports === false ? [] : exports.unknown);
    },
    send: (own, namespaces) => membership.sendExports(own, namespaces),
    answerTo: (key) => exports.answerTo(key),
    forgetAnswer: (key) => exports.forgetAnswer(key),
    deliveryOf(key): Delivery {
      if (membership.isSurplusExport(key)) {
        const message = `this cluster exports more than ${mostExports} Services, and only the oldest are exported: delete ServiceExports that are not needed`;
        return { kind: 'refused', problem: { code: 'MaxExports', message } };
      }
      const rejections = exports.rejectionsOf(key);
      const refused = rejections.find(({ code }) => !partial.has(code));
      if (refused !== undefined) return { kind: 'refused', problem: { code: refused.code, message: refused.message } };
      if (rejections.length > 0 || membership.areExportsKnown)
        return { kind: 'delivered', message: rejections.map(({ message }) => message).join('; ') };
      if (!membership.state.isConnected)
        return {
          kind: 'pending',
          message: 'there is no session with the hub: see the condition HubReachable of the Interconnect',
        };
      if (hub.carriesExports === false)
        return { kind: 'pending', message: 'the hub is of a release that does not pass on exports: upgrade it' };
      return { kind: 'pending', message: 'the hub has not answered yet' };
    },
  };
}
