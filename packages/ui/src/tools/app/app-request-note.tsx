import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button } from "../../design/index.js";
import { visibleLine, visibleText } from "../../design/visible-text.js";

/** A request from an app that waits for the user's permission. */
export interface AppRequest {
  readonly id: number;
  readonly text: string;
  readonly detail: string;
  readonly url?: string;
  /** Whether it can be allowed for the rest of this run. */
  readonly isTool: boolean;
  decide(isAllowed: boolean): void;
}

/**
 * An app chooses when its request appears, and can make the user click where the buttons will be. So a request cannot be allowed
 * in its first moments, which also ignores the second click of a double click.
 */
const lockedMs = 800;
const maxShown = 20_000;

/** Asks the user to allow an app's request. Give each request its own `key`. */
export function AppRequestNote({
  request,
  onAllowAll,
}: {
  readonly request: AppRequest;
  readonly onAllowAll: () => void;
}): VNode {
  const [isLocked, setLocked] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setLocked(false), lockedMs);
    return () => clearTimeout(timer);
  }, []);
  const { text, detail, url, isTool, decide } = request;
  const hiddenLength = detail.length - maxShown;
  return (
    <div class="app-request" role="alert">
      <p>
        The app wants to <strong>{visibleLine(text)}</strong>
      </p>
      {/* It scrolls, so the keyboard must reach it. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above. */}
      <pre class="app-request-detail" tabIndex={0}>
        {visibleText(detail.slice(0, maxShown))}
      </pre>
      {hiddenLength > 0 && <p>{hiddenLength} more characters are not shown.</p>}
      <p class="app-request-actions">
        {url === undefined || isLocked ? (
          <Button isSmall kind="primary" isDisabled={isLocked} onClick={() => decide(true)}>
            {url === undefined ? "Allow" : "Open"}
          </Button>
        ) : (
          <a
            class="button button-small button-primary"
            href={url}
            target="_blank"
            rel="noopener noreferrer"
            onClick={() => decide(true)}
          >
            Open
          </a>
        )}
        {isTool && (
          <Button isSmall isDisabled={isLocked} onClick={onAllowAll}>
            Allow all calls of this app
          </Button>
        )}
        <Button isSmall onClick={() => decide(false)}>
          Decline
        </Button>
      </p>
    </div>
  );
}
