/** Renders causes with their fixes, for all commands. Pure. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { Paint, Tone } from './paint.ts';
import { renderSection } from './table.ts';

interface Shown extends Problem {
  readonly fix: string;
}

export function renderCauses(title: string, causes: readonly Shown[], tone: Tone, paint: Paint): readonly string[] {
  const lines = causes.flatMap(({ code, message, fix }) => [
    `${paint(code, tone)}: ${message}`,
    `  ${paint('fix:', 'faint')} ${fix}`,
  ]);
  return renderSection(title, lines, paint);
}

/** Renders what could not be read, so that missing data is not taken for a healthy state. */
export function renderUnreadable(problems: readonly Problem[], paint: Paint): readonly string[] {
  return renderSection(
    'Not seen',
    problems.map(({ message }) => message),
    paint,
  );
}
