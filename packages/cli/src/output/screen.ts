import type { Io, Output } from "../io.js";

/** Standard output, as a command sees it. */
export interface Screen {
  /** The columns of the terminal; undefined if output goes elsewhere and may be as wide as it likes. */
  readonly width: number | undefined;
  /** The lines of the terminal; undefined if output goes elsewhere, or if they are unknown. */
  readonly height: number | undefined;
  readonly palette: Palette;
  /** The time of the output: that of its first use, and then the same, so that relative times agree. */
  readonly now: Date;
  print(line: string): void;
  printAll(lines: Iterable<string>): void;
}

/** The screen on an Io. */
export function createScreen(io: Io, isColourOff: boolean): Screen {
  const isTty = io.stdout.isTTY === true;
  let now: Date | undefined;
  const print = (line: string): void => {
    io.stdout.write(`${line}\n`);
  };
  return {
    width: widthOf(io.stdout),
    height: isTty ? io.stdout.rows || undefined : undefined,
    palette: createPalette(wantsColour(io.env, isTty, isColourOff)),
    get now() {
      now ??= io.now();
      return now;
    },
    print,
    printAll(lines) {
      for (const line of lines) print(line);
    },
  };
}

/** The columns of a terminal; undefined if output goes elsewhere. Some terminals do not know their width, and say 0. */
export function widthOf({ isTTY, columns }: Output): number | undefined {
  return isTTY === true ? columns || 80 : undefined;
}

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
