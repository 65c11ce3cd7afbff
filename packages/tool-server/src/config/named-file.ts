import { isAbsolute, relative, sep } from "node:path";
import { pluginRootVariable, renderParts, type Template } from "./template.js";

/** A file that an entry may reference. */
export interface NamedFile {
  /** The field that references it, such as `args[0]`. */
  readonly field: string;
  /** Absolute; undefined if a user's variable decides which file it is. */
  readonly path: string | undefined;
  /** Whether it counts at any location, even if it is missing; otherwise it counts only inside the plugin root. */
  readonly isCertain: boolean;
  /** Whether the path has no links, and is relative to the plugin root in a fingerprint even outside of it. Default false. */
  readonly isNearby?: boolean | undefined;
}

/** A placeholder for a user's variable. A process argument cannot contain it. */
export const userMark = "\0";

/** What separates the words of a string that may contain paths. */
export const separators: RegExp = /[\0\s"'`=,;:|&<>()@]+/;

/** The path relative to the root, with slashes; it begins with `..` outside the root. */
export function pathFrom(root: string, path: string): string {
  return relative(root, path).split(sep).join("/");
}

/** The path relative to the root, with slashes; undefined if the file is not below the root. */
export function pathWithin(root: string, path: string): string | undefined {
  const inner = relative(root, path);
  const isInside = inner !== "" && inner !== ".." && !inner.startsWith(`..${sep}`) && !isAbsolute(inner);
  return isInside ? pathFrom(root, path) : undefined;
}

/** The string of a template with replacements for HOST_PLUGIN_ROOT and for each user's variable. */
export function markedText(template: Template, root: string, user: (fallback: string | undefined) => string): string {
  return renderParts(template, ({ name, fallback }) => (name === pluginRootVariable ? root : user(fallback)));
}

/** The string of a template with the defaults of its variables, and `userMark` for those that have none. */
export function defaultText(template: Template, root: string): string {
  return markedText(template, root, (fallback) => fallback ?? userMark);
}
