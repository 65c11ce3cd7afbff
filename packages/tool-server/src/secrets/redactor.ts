import { decodedViews, plainView, type TextView } from "./decoded-views.js";
import { createSecretIndex, foldCase, type SecretIndex, type Span } from "./secret-index.js";

/** Knows secrets by their values, and replaces them in text that leaves the process. */
export interface SecretRegistry {
  /**
   * Registers a value as a secret. A value of fewer than 4 characters is ignored; one of 4 to 7 is replaced only as a whole
   * word. Of a value of more than 16,384 characters the beginning is kept.
   */
  add(value: string): void;
  /**
   * Registers values that are replaced regularly: only the last `keep` of them stay registered, default 16, so that a long-running process
   * does not accumulate them.
   */
  rotating(keep?: number): Pick<SecretRegistry, "add">;
  /**
   * A registry for the secrets of one server or file. Its `redact` replaces its own values and those of this registry; this registry does not
   * replace the values of the scope. So no server decides what is redacted elsewhere.
   */
  scope(): SecretRegistry;
  /**
   * The text with `[redacted]` in place of every secret, in upper or lower case, plain or encoded: percent-encoding, JSON and
   * JavaScript escapes, HTML entities, base64 and hex, and any two of these on top of each other.
   */
  redact(text: string): string;
  /** The number of values registered here. */
  readonly size: number;
}

const replacement = "[redacted]";
const maxEncodings = 2;

/** An empty registry of secrets. */
export function createSecretRegistry(): SecretRegistry {
  return createRegistry([]);
}

function createRegistry(outer: readonly SecretIndex[]): SecretRegistry {
  const index = createSecretIndex();
  const indexes = [...outer, index];
  const register = (value: string): void => {
    const secret = value.trim();
    // A part of the replacement itself cannot be replaced.
    if (!replacement.includes(foldCase(secret))) index.add(secret);
  };

  return {
    get size() {
      return index.size;
    },
    add: register,
    rotating(keep = 16) {
      const known = new Set<string>();
      return {
        add(value) {
          // A value that is used again becomes the newest.
          const isKnown = known.delete(value);
          known.add(value);
          if (isKnown) return;
          register(value);
          const [oldest] = known;
          if (known.size <= keep || oldest === undefined) return;
          known.delete(oldest);
          index.delete(oldest.trim());
        },
      };
    },
    scope: () => createRegistry(indexes),
    redact(text) {
      const used = indexes.filter(({ size }) => size > 0);
      if (used.length === 0) return text;
      const spans: Span[] = [];
      collectSpans(plainView(text), used, 0, spans);
      return spans.length === 0 ? text : replaceSpans(text, spans);
    },
  };
}

function collectSpans(view: TextView, indexes: readonly SecretIndex[], encodings: number, spans: Span[]): void {
  const folded = foldCase(view.text);
  for (const index of indexes) {
    for (const [start, end] of index.find(view.text, folded)) spans.push(view.toOriginal(start, end));
  }
  if (encodings === maxEncodings) return;
  const shortest = Math.min(...indexes.map((index) => index.shortest));
  for (const decoded of decodedViews(view, shortest)) collectSpans(decoded, indexes, encodings + 1, spans);
}

/** Replaces the spans. Those that overlap or touch are replaced together, so that no part of either remains. */
function replaceSpans(text: string, spans: Span[]): string {
  let result = "";
  let from = 0;
  let isOpen = false;
  for (const [start, end] of spans.sort(([a], [b]) => a - b)) {
    if (!isOpen || start > from) result += text.slice(from, start) + replacement;
    isOpen = true;
    from = Math.max(from, end);
  }
  return result + text.slice(from);
}
