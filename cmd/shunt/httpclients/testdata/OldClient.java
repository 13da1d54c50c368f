import java.net.HttpURLConnection;
import java.net.URL;

public class OldClient {
    public static void main(String[] args) throws Exception {
        HttpURLConnection connection = (HttpURLConnection) new URL(args[0]).openConnection();
        System.out.write(connection.getInputStream().readAllBytes());
        System.out.flush();
    }
}
