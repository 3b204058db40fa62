/**
 * Metrics of the prefixes that this node announces and learns, and whether it should speak BGP at all. They read sums that other modules keep, and do
 * not iterate over routes.
 */
import { instancesByNode } from '../../../lib/bgp/instance.ts';
import type { Scraped } from './scraped.ts';

const phases = ['None', 'Leaving', 'Drained'] as const;

export const nodeSeries: readonly Scraped[] = [
  {
    name: 'isthmus_speaker_gobgpd_up',
    help: '1 while gobgpd answers',
    fill: ({ observed }, put) => put({}, observed.daemon.isReachable ? 1 : 0),
  },
  {
    name: 'isthmus_speaker_wanted_prefixes',
    help: 'Prefixes this node announces',
    fill: ({ plan }, put) => put({}, plan.table.routes.size),
  },
  {
    name: 'isthmus_speaker_not_announced_objects',
    help: 'Objects that an advertisement selects and that are not announced, or not with all of their prefixes, by reason; the same on every speaker',
    labelNames: ['advertisement', 'reason'],
    fill: ({ plan }, put) => {
      for (const [advertisement, reason, objects] of plan.table.refused()) put({ advertisement, reason }, objects);
    },
  },
  {
    name: 'isthmus_speaker_learned_routes',
    help: 'Prefixes of routers that are routes here',
    fill: ({ nodeState }, put) => put({}, nodeState?.learnedRoutes ?? 0),
  },
  {
    name: 'isthmus_speaker_drain_phase',
    help: '1 for the phase of draining that this node is in',
    labelNames: ['phase'],
    fill: ({ plan }, put) => {
      for (const phase of phases) put({ phase }, plan.drain === phase ? 1 : 0);
    },
  },
  {
    name: 'isthmus_speaker_instance_nodes',
    help: 'Nodes that have the BgpInstance of this node, each of which should have a speaker',
    labelNames: ['bgp_instance'],
    fill: ({ state }, put) => {
      const holders = instancesByNode(state);
      const own = holders.get(state.node);
      if (own === undefined) return;
      put({ bgp_instance: own }, [...holders.values()].filter((name) => name === own).length);
    },
  },
];
