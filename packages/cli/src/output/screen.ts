import type { Io, Output } from "../io.js";
import { createPalette, type Palette, wantsColour } from "./colour.js";

/** Standard output, as a command sees it. */
export interface Screen {
  /** The columns of the terminal; undefined where output goes elsewhere and may be as wide as it likes. */
  readonly width: number | undefined;
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

/** The columns of a terminal; undefined where output goes elsewhere. Some terminals do not know their width, and say 0. */
export function widthOf({ isTTY, columns }: Output): number | undefined {
  return isTTY === true ? columns || 80 : undefined;
}
