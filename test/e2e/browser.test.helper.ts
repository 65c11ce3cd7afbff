/** The parts of a browser that a sign-in needs: it follows redirects, keeps cookies, and submits forms. */
export interface Browser {
  /** Opens a url and follows redirects. */
  open(url: string): Promise<Page>;
  /** Submits the first form of a page, with its own fields and the given ones. */
  submit(page: Page, fields?: Readonly<Record<string, string>>): Promise<Page>;
  /** Opens a URL and submits every form that follows. */
  signIn(url: string): Promise<Page>;
}

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly html: string;
}

export interface BrowserOptions {
  /** URLs that it cannot reach: the last page then has this URL. Default: none. */
  readonly cannotReach?: (url: string) => boolean;
}

export function createBrowser({ cannotReach = () => false }: BrowserOptions = {}): Browser {
  const cookies = new Map<string, string>();
  const go = async (url: string, form?: URLSearchParams): Promise<Page> => {
    if (cannotReach(url)) return { url, status: 0, html: "This site cannot be reached." };
    const { origin } = new URL(url);
    const kept = [...cookies]
      .filter(([name]) => name.startsWith(`${origin} `))
      .map(([name, value]) => `${name.slice(origin.length + 1)}=${value}`);
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie: kept.join("; "), accept: "text/html" },
      ...(form === undefined ? {} : { method: "POST", body: form }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") cookies.delete(`${origin} ${name}`);
      else cookies.set(`${origin} ${name}`, value);
    }
    const location = response.headers.get("location");
    const html = await response.text();
    return location === null ? { url, status: response.status, html } : go(new URL(location, url).href);
  };
  const submit: Browser["submit"] = (page, fields = {}) => {
    const action = /<form[^>]*action="([^"]+)"/.exec(page.html)?.[1] ?? page.url;
    const form = new URLSearchParams();
    for (const [input] of page.html.matchAll(/<input[^>]*>/g)) {
      const name = /name="([^"]+)"/.exec(input)?.[1];
      if (name !== undefined) form.set(name, /value="([^"]*)"/.exec(input)?.[1] ?? "");
    }
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    return go(new URL(action, page.url).href, form);
  };
  return {
    open: (url) => go(url),
    submit,
    async signIn(url) {
      let page = await go(url);
      for (let forms = 0; page.html.includes("<form") && forms < 5; forms += 1) {
        page = await submit(page, { name: "ada" });
      }
      return page;
    },
  };
}

/** Enters the code of a device on its page, and confirms it. */
export async function enterDeviceCode(url: string, userCode: string): Promise<Page> {
  const browser = createBrowser();
  const entry = await browser.open(url);
  const confirmation = await browser.submit(entry, { user_code: userCode });
  return browser.submit(confirmation, { user_code: userCode, confirm: "yes" });
}
