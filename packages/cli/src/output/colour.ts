import type { Io } from "../io.js";

/** Wraps text so that a terminal shows it in a colour, or leaves it as it is. */
export type Paint = (text: string) => string;

/** Colours by what they mean. */
export interface Palette {
  readonly good: Paint;
  readonly warning: Paint;
  readonly bad: Paint;
  readonly faint: Paint;
  readonly strong: Paint;
  readonly plain: Paint;
}

/**
 * Whether output should be in colour: `--no-color` first, then FORCE_COLOR (0 and false are against it), NO_COLOR, and last whether it
 * is a terminal that knows colours.
 */
export function wantsColour(env: Io["env"], isTty: boolean, isSwitchedOff: boolean): boolean {
  if (isSwitchedOff) return false;
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== "0" && env.FORCE_COLOR !== "false";
  if (env.NO_COLOR) return false;
  return isTty && env.TERM !== "dumb";
}

/** The palette, or one that leaves all text as it is. */
export function createPalette(isColoured: boolean): Palette {
  const sgr =
    (open: number, close: number): Paint =>
    (text) =>
      isColoured && text !== "" ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  return {
    good: sgr(32, 39),
    warning: sgr(33, 39),
    bad: sgr(31, 39),
    faint: sgr(2, 22),
    strong: sgr(1, 22),
    plain: (text) => text,
  };
}
