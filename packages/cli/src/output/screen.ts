import type { Io, Output } from "../io.js";

/** Standard output, as a command sees it. */
export interface Screen {
  /** The columns of the terminal; undefined if standard output is not a terminal and lines may have any width. */
  readonly width: number | undefined;
  /** The lines of the terminal; undefined if standard output is not a terminal, or if unknown. */
  readonly height: number | undefined;
  readonly palette: Palette;
  /** The time of its first use, always the same, so that relative times are consistent. */
  readonly now: Date;
  print(line: string): void;
  printAll(lines: Iterable<string>): void;
}

/** Creates the screen for an Io. */
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

/** The columns of a terminal; undefined if the output is not a terminal. Some terminals report a width of 0. */
export function widthOf({ isTTY, columns }: Output): number | undefined {
  return isTTY === true ? columns || 80 : undefined;
}

/** Adds the escape sequences of a colour to text, or returns it unchanged. */
export type Paint = (text: string) => string;

/** Colours by meaning. */
export interface Palette {
  readonly good: Paint;
  readonly warning: Paint;
  readonly bad: Paint;
  readonly faint: Paint;
  readonly strong: Paint;
  readonly plain: Paint;
}

/**
 * Whether output is coloured: decided by `--no-color`, then FORCE_COLOR (0 and false turn it off), then NO_COLOR, and last by whether
 * it is a terminal with colours.
 */
export function wantsColour(env: Io["env"], isTty: boolean, isSwitchedOff: boolean): boolean {
  if (isSwitchedOff) return false;
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== "0" && env.FORCE_COLOR !== "false";
  if (env.NO_COLOR) return false;
  return isTty && env.TERM !== "dumb";
}

/** Creates the palette; without colour, it leaves text unchanged. */
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
