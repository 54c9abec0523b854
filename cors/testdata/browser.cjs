// Does in chromium what the cases on standard input say, and writes one result for each to standard
// output. A case is a page to open and the body of an async function to run in it, which gets `url`.
const { chromium } = require('playwright-core')

async function main() {
  let input = ''
  for await (const part of process.stdin) input += part
  const { executable, args, cases } = JSON.parse(input)
  const browser = await chromium.launch({ executablePath: executable, args })
  const results = []
  for (const c of cases) {
    const context = await browser.newContext()
    const page = await context.newPage()
    const console_ = []
    page.on('console', m => console_.push(m.text()))
    const result = {}
    try {
      const response = await page.goto(c.page)
      result.page = response.status()
      result.value = await page.evaluate(
        ({ script, url }) => new (async () => {}).constructor('url', script)(url).catch(e => 'error: ' + e.message),
        { script: c.script, url: c.url })
    } catch (e) {
      result.error = String(e)
    }
    result.console = console_.join('\n')
    results.push(result)
    await context.close()
  }
  await browser.close()
  process.stdout.write(JSON.stringify(results))
}

main().catch(e => { console.error(e); process.exit(1) })
