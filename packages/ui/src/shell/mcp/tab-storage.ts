const prefix = "wirescope.";
/** Browsers keep about five million characters for an origin in each tab. */
const maxLength = 2_000_000;

/** The value that this tab kept under a name before the page was reloaded; undefined if there is none. */
export function keptInTab<Value>(name: string): Value | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(prefix + name) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps the newest items under a name when the page is left, until the tab is closed. */
export function keepInTab(name: string, newestItems: () => readonly unknown[]): void {
  addEventListener("pagehide", () => {
    const kept: string[] = [];
    let length = 0;
    for (const item of newestItems()) {
      const text = JSON.stringify(item);
      length += text.length;
      if (length > maxLength) break;
      kept.push(text);
    }
    try {
      sessionStorage.setItem(prefix + name, `[${kept}]`);
    } catch {
      // The browser allows no storage, or it is full: the reloaded page begins without it.
    }
  });
}

/** Whether values for a schema stay out of the storage of the browser. */
export function isSecretInput(schema: unknown): boolean {
  return /"format":"password"|"writeOnly":true/.test(JSON.stringify(schema) ?? "");
}
