// Evaluates tickets of a study. Node 18 or newer, nothing else:
//   SUREST_TOKEN=… node worker.mjs http://host:8080 STUDY
const evaluate = async (arm, item) => (arm === 'good' ? 0.9 : 0.2) // yours: a number for an arm (on an item)

const [url, study] = process.argv.slice(2)
const at = `${url}/api/studies/${encodeURIComponent(study)}`
const worker = `node-${process.pid}`
const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${process.env.SUREST_TOKEN ?? ''}` }

async function send(what, data) {
  const response = await fetch(`${at}/${what}`, { method: 'POST', headers, body: JSON.stringify(data) }).catch(() => null)
  if (response?.ok) return response.json()
  if (response !== null && response.status < 500 && response.status !== 429) throw new Error(await response.text())
  await new Promise((resolve) => setTimeout(resolve, 1000)) // the service is away: again, which does no harm
  return send(what, data)
}

for (let answer; !(answer = await send('ask', { worker, wait: 30, held: [] })).finished; )
  for (const { ticket, arm, item } of answer.tickets)
    await evaluate(arm, item).then(
      (reward) => send('tell', { ticket, reward, worker }),
      (error) => send('fail', { ticket, worker, reason: String(error) }),
    )
