import "./copy.css";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Icon } from "./icon.js";
import { visibleText } from "./visible-text.js";

export interface CopyProps {
  /** The text to copy. */
  readonly text: string;
  /** What it is: "command", "id". Default: "". */
  readonly what?: string | undefined;
  /** Whether the text is shown in front of the button. Default: false. */
  readonly isShown?: boolean | undefined;
}

const shownMs = 1500;

/** A button that copies a string and confirms it. */
export function Copy({ text, what = "", isShown }: CopyProps): VNode {
  const [result, setResult] = useState<"copied" | "failed">();
  useEffect(() => {
    if (result === undefined) return undefined;
    const timer = setTimeout(() => setResult(undefined), shownMs);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = (event: MouseEvent): void => {
    event.stopPropagation();
    navigator.clipboard.writeText(text).then(
      () => setResult("copied"),
      () => setResult("failed"),
    );
  };
  const label = what === "" ? "Copy" : `Copy ${what}`;
  return (
    <span class="copy">
      {isShown && <code>{visibleText(text)}</code>}
      <button type="button" class="copy-button" aria-label={label} title={label} onClick={copy}>
        <Icon name={result === "copied" ? "check" : "copy"} />
      </button>
      <span class="visually-hidden" aria-live="polite">
        {result === "copied" ? "Copied" : result === "failed" ? "The browser did not allow copying" : ""}
      </span>
    </span>
  );
}
