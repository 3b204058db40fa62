import { text, UsageError } from '../../lib/run/flags.ts';
import { remoteClusters } from '../../lib/kube/resources.ts';
import { command } from '../command/command.ts';
import { CommandFailed } from '../command/failure.ts';
import { listRoutes } from '../plan/routes.ts';
import { explainRoute, parseTarget } from '../plan/why.ts';
import { paintFor } from '../render/paint.ts';
import { renderRoutes, renderWhy } from '../render/routes.ts';
import { clusterFlags, outputFlags, peerFlags, readFar, readNear } from '../watch/cluster.ts';

export const routes = command(
  {
    name: 'routes',
    operands: [],
    summary: 'routes to other clusters, and why an address is or is not reached',
    description:
      'Lists every route that another cluster offers, with its state and the reason why it is not used. --why ADDRESS or\n--why PREFIX explains one: the longest match, what prevents its use, which policy decided, and what it would need;\nof a prefix of this cluster, which clusters it is offered to. A route is not access: with --peer-kubeconfig the answer\nshows which networks a private Subnet there admits. Read-only. With --why, the exit code is 1 where there is no route, or where a\nprivate Subnet there admits nothing of this cluster.',
    examples: [
      'isthmus ic routes --cluster west',
      'isthmus ic routes --why 10.17.3.4',
      'isthmus ic routes --why 10.17.0.0/16 --peer-context west',
    ],
  },
  {
    why: text('address or prefix to explain', undefined),
    cluster: text('only routes of this cluster', undefined),
    ...peerFlags,
    ...clusterFlags,
    ...outputFlags,
  },
  async ({ flags, terminal }) => {
    const target = flags.why === undefined ? undefined : parseTarget(flags.why);
    if (flags.why !== undefined && target === undefined)
      throw new UsageError(`--why ${flags.why}: is neither an address nor a prefix`, 2);
    const [near, far] = await Promise.all([readNear(flags, terminal), readFar(flags, terminal)]);
    const unseen = near.unreadable.find(({ what }) => what === remoteClusters.plural);
    if (unseen !== undefined) throw new CommandFailed(unseen);
    const { cluster } = flags;
    if (cluster !== undefined && !near.remotes.some(({ name }) => name === cluster)) {
      const known = near.remotes.map(({ name }) => name).join(', ');
      const message = `${near.label} knows no cluster ${cluster}; it knows ${known === '' ? 'none' : known}`;
      throw new CommandFailed({ code: 'UnknownCluster', message });
    }
    const paint = paintFor(terminal.isColoured);
    const isJson = flags.output === 'json';
    if (target === undefined) {
      const list = listRoutes(near, flags.cluster);
      const plain = { ...list, routes: list.routes.map((route) => ({ ...route, cidr: undefined })) };
      terminal.out(isJson ? `${JSON.stringify(plain, undefined, 2)}\n` : renderRoutes(list, paint));
      return 0;
    }
    const why = explainRoute(near, target, far);
    // Omits the parsed prefix: its addresses are big integers, and the text has the same information.
    const json = () =>
      JSON.stringify(
        why,
        (key, value: unknown) => (key === 'cidr' && typeof value === 'object' ? undefined : value),
        2,
      );
    terminal.out(isJson ? `${json()}\n` : renderWhy(why, terminal.now(), paint));
    return ['Local', 'Edge', 'Reached'].includes(why.answer) ? 0 : 1;
  },
);
