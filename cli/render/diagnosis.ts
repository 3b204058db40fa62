/** Renders the diagnosis as text: causes first, then the steps that found them. Pure. */
import type { Diagnosis } from '../plan/diagnose/diagnose.ts';
import type { StepState } from '../plan/diagnose/step.ts';
import { renderCauses, renderUnreadable } from './causes.ts';
import type { Paint, Tone } from './paint.ts';
import { renderSection, renderTable, toned } from './table.ts';
import { plural } from '../model/units.ts';

const tones: Readonly<Record<StepState, Tone>> = {
  ok: 'good',
  warning: 'doubtful',
  failed: 'bad',
  unknown: 'doubtful',
};

function codesOf(causes: readonly { readonly code: string }[]): string {
  return [...new Set(causes.map(({ code }) => code))].join(', ');
}

export function renderDiagnosis(found: Diagnosis, paint: Paint): string {
  const { cluster, peer, isWell, causes, consequences, warnings, steps, unreadable } = found;
  const way = peer === undefined ? `${cluster} – all other clusters` : `${cluster} – ${peer}`;
  const where = unreadable.length === 0 ? '' : ' in what you have permission to read';
  const none = `no fault found${where}`;
  const some = `nothing found${where} that stops traffic; warnings: ${codesOf(warnings)}`;
  const well = warnings.length === 0 ? paint(none, 'good') : paint(some, 'doubtful');
  const verdict = isWell ? well : paint(plural(causes.length, 'cause'), 'bad');
  const rows = steps.map(({ cluster: side, name, state, evidence, because }) => [
    side,
    name,
    toned(state, tones[state]),
    because === undefined ? evidence : `${evidence} (see ${steps.find(({ id }) => id === because)?.name ?? because})`,
  ]);
  const lines = [
    `${paint(way, 'strong')}: ${verdict}`,
    ...renderCauses('Causes', causes, 'bad', paint),
    ...renderCauses('Probably caused by these', consequences, 'doubtful', paint),
    ...renderCauses('Warnings', warnings, 'doubtful', paint),
    ...renderUnreadable(unreadable, paint),
    ...renderSection('Steps', renderTable(['CLUSTER', 'STEP', 'STATE', 'EVIDENCE'], rows, paint), paint),
  ];
  return `${lines.join('\n')}\n`;
}
